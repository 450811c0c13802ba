// What a checkpoint's plans are made from: spec/decomposition.md, DECO-12.
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/api/examine.hpp"
#include "optimized/api/model_files.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/engines/bypass_engine.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/evaluate.hpp"
#include "optimized/split/singular_components.hpp"
#include "slip/planning.hpp"
#include "slip/split.hpp"

namespace slip {
namespace {

using base::GroupShape;
using base::MemberShape;
using importing::Checkpoint;

/// Tells of work that several threads do, one at a time.
class SharedProgress {
public:
    SharedProgress(std::string what, std::uint64_t total,
                   const std::function<void(const MeasureProgress&)>& report)
        : progress_{std::move(what), 0, total}, report_(report) {}
    void add(std::uint64_t done) {
        if (!report_) return;
        const std::lock_guard lock(mutex_);
        progress_.done += done;
        report_(progress_);
    }

private:
    std::mutex mutex_;
    MeasureProgress progress_;
    const std::function<void(const MeasureProgress&)>& report_;
};

/// In the set that 'slip split' uses unless it is told another.
std::uint64_t charlie_at_rank_0(const GroupShape& group) {
    static const auto& set =
        artifact::layout::require_set(std::string(artifact::layout::default_set(true)));
    artifact::CharlieGroup without_factors;
    without_factors.n = group.n;
    without_factors.convolution = group.convolution;
    for (const MemberShape& member : group.members) {
        without_factors.members.emplace_back().shape = member;
    }
    return group.columns_per_token *
           engines::charlie_multiplications_per_column(without_factors, set);
}

/// A matrix of a block, and where it is in the checkpoint.
struct Place {
    const MemberShape* member = nullptr;
    std::size_t n = 0;
};

/// Everything but what a text shows and the singular values.
std::vector<Place> count_work(const std::vector<GroupShape>& groups,
                              CheckpointMeasurements& measurements) {
    std::vector<Place> places;
    for (const GroupShape& group : groups) {
        const std::uint64_t columns = group.columns_per_token * group.product().positions();
        measurements.multiplications += columns * group.product().rows * group.n;
        measurements.charlie_at_rank_0 += charlie_at_rank_0(group);
        for (const MemberShape& member : group.members) {
            if (!member.block) continue;
            places.push_back({&member, group.n});
            measurements.matrices.push_back(
                {*member.block, member.layer_type, columns * (member.m + group.n), {}});
        }
    }
    return places;
}

void measure_matrices(const Checkpoint& checkpoint, const std::vector<Place>& places,
                      const MeasureOptions& options, CheckpointMeasurements& measurements) {
    SharedProgress progress("matrices", places.size(), options.progress);
    base::parallel_for(base::threads_or_all(options.threads), places.size(), [&](std::size_t i) {
        const auto& [member, n] = places[i];
        const std::vector<float> weights = checkpoint.matrix(*member, n);
        measurements.matrices[i].squared_singular_values =
            splitting::squared_singular_values({weights.data(), member->m, n});
        checkpoint.forget_pages();
        progress.add(1);
    });
}

/// In nats per token, without the blocks of the window. Several threads may share `in_float`, which
/// only reads.
double loss_without(engines::BlockWindow window, const Checkpoint& checkpoint,
                    const std::vector<GroupShape>& groups, base::Engine& in_float,
                    const std::vector<TokenId>& text, SharedProgress& progress) {
    const auto parameters = engines::parameters_without_biases(
        [&](std::string_view name, std::size_t elements) {
            return checkpoint.floats(name, elements);
        },
        groups, window);
    const auto graph = graph::make_graph(checkpoint.config(), parameters);
    engines::BypassEngine engine(in_float, groups, window);
    const std::size_t context = checkpoint.config().max_position_embeddings;
    std::uint64_t before = 0;
    const PerplexityResult result = graph::perplexity(
        *graph, engine, text, api::before_texts(checkpoint.config()), {context, context},
        [&](std::uint64_t done) { progress.add(done - std::exchange(before, done)); });
    return result.nll / static_cast<double>(result.tokens);
}

void measure_bypass(const Checkpoint& checkpoint, const std::vector<GroupShape>& groups,
                    const MeasureOptions& options, CheckpointMeasurements& measurements) {
    engines::FloatEngine in_float(groups, [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    });
    const std::size_t blocks = checkpoint.config().num_hidden_layers;
    SharedProgress progress("tokens", (blocks + 1) * options.text.size(), options.progress);
    std::vector<double> losses(blocks + 1);  // the last one of the whole model
    base::parallel_for(base::threads_or_all(options.threads), losses.size(), [&](std::size_t i) {
        losses[i] = loss_without({i, i < blocks ? std::size_t{1} : 0}, checkpoint, groups, in_float,
                                 options.text, progress);
    });
    measurements.tokens = options.text.size();
    measurements.loss = losses.back();
    for (std::size_t block = 0; block < blocks; ++block) {
        measurements.bypass_losses.push_back(losses[block] - losses.back());
    }
}

void require_measurable_text(const Checkpoint& checkpoint, const std::vector<TokenId>& text) {
    if (checkpoint.network()) {
        throw BadInput(checkpoint.folder().string() +
                       ": a convolutional network reads no text; its layers count the same");
    }
    api::before_texts(checkpoint.config());
    graph::require_in_vocabulary(text, checkpoint.config());
}

}  // namespace

CheckpointMeasurements measure_checkpoint(const std::filesystem::path& model,
                                          const MeasureOptions& options) {
    const Checkpoint checkpoint(model);
    const std::vector<GroupShape> groups = api::groups_in(checkpoint);
    if (!options.text.empty()) require_measurable_text(checkpoint, options.text);
    api::require_model_of_config(checkpoint, groups);
    for (const GroupShape& group : groups) {  // before any long work
        for (const MemberShape& member : group.members) checkpoint.require_matrix(member, group.n);
    }
    CheckpointMeasurements measurements;
    const std::vector<Place> places = count_work(groups, measurements);
    measure_matrices(checkpoint, places, options, measurements);
    if (!options.text.empty()) measure_bypass(checkpoint, groups, options, measurements);
    return measurements;
}

}  // namespace slip
