#include "experiments/bench/round.hpp"

#include <algorithm>
#include <cstdint>

#include "experiments/bench/medians.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/protocol/charlie.hpp"
#include "optimized/protocol/david.hpp"

namespace slip::bench {
namespace {

using base::GroupId;
using base::MatrixView;
using protocol::CharlieSession;

/// Masks per group that are ready before a series of rounds begins.
constexpr std::size_t series = 16;

double round_microseconds(CharlieSession& session, GroupId group,
                          MatrixView<const std::int16_t> activation,
                          MatrixView<std::int64_t> products) {
    return 1e6 * seconds_of([&] {
               session.send(group, activation);
               session.receive(products);
           });
}

RoundResult measure_group(CharlieSession& remote, CharlieSession& local, GroupId group,
                          const base::ProductShape& shape, std::size_t repetitions) {
    std::vector<std::int16_t> activation(shape.n);
    for (std::size_t j = 0; j < activation.size(); ++j) {
        activation[j] = static_cast<std::int16_t>(j % 1000);
    }
    std::vector<std::int64_t> products(shape.rows);
    const MatrixView<const std::int16_t> x(activation.data(), 1, shape.n);
    const MatrixView<std::int64_t> y(products.data(), 1, shape.rows);

    std::vector<double> over_tls;
    std::vector<double> in_process;
    std::vector<double> differences;
    for (std::size_t i = 0; i < repetitions; ++i) {
        if (i % series == 0) {
            remote.wait_until_ready(series);
            local.wait_until_ready(series);
        }
        over_tls.push_back(round_microseconds(remote, group, x, y));
        in_process.push_back(round_microseconds(local, group, x, y));
        differences.push_back(over_tls.back() - in_process.back());
    }
    return {shape.n, shape.rows, 0, median(over_tls), median(in_process), median(differences)};
}

}  // namespace

std::vector<RoundResult> measure_rounds(const RoundOptions& options) {
    const artifact::CharlieArtifact charlie(options.artifact);
    const artifact::DavidArtifact david(options.artifact / "david");
    const protocol::DavidModel model{david.weights(), david.set(), david.digest()};
    const protocol::IntegrityCheck check(charlie.check_secret(), kernels::shapes_of(model.weights),
                                         model.set.planes);
    protocol::DavidSession local_david(model);
    protocol::InProcessTransport in_process(local_david);
    const auto over_tls = connect_tls(options.david, options.tls);
    CharlieSession local(model.weights, check, model.set, model.digest, in_process, {});
    CharlieSession remote(model.weights, check, model.set, model.digest, *over_tls, {});
    return measure_rounds(kernels::shapes_of(model.weights), remote, local, options.repetitions);
}

std::vector<RoundResult> measure_rounds(const std::vector<base::ProductShape>& shapes,
                                        CharlieSession& remote, CharlieSession& local,
                                        std::size_t repetitions) {
    std::vector<RoundResult> results;
    for (GroupId group = 0; group < shapes.size(); ++group) {
        const base::ProductShape& shape = shapes[group];
        const auto known = std::find_if(results.begin(), results.end(), [&](const auto& result) {
            return result.n == shape.n && result.rows == shape.rows;
        });
        if (known != results.end()) {
            ++known->groups;
            continue;
        }
        results.push_back(measure_group(remote, local, group, shape, repetitions));
        results.back().groups = 1;
    }
    return results;
}

double median_overhead(const std::vector<RoundResult>& results) {
    std::vector<double> overheads;
    for (const RoundResult& result : results) {
        overheads.insert(overheads.end(), result.groups, result.overhead_microseconds);
    }
    return median(overheads);
}

}  // namespace slip::bench
