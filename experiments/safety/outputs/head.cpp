#include "experiments/safety/outputs/head.hpp"

#include <algorithm>

#include "optimized/artifact/integer_model.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/split/decomposition.hpp"
#include "optimized/split/hidden_matrix.hpp"

namespace slip::outputs {
namespace {

using base::parameters::ParameterSet;
using Eigen::Index;
using Eigen::MatrixXd;
template <class Number>
using RowMajor = Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t tokens_of_a_context = 48;  // at most

const ParameterSet& hidden_set() {
    const auto& sets = base::parameters::parameter_sets;
    return *std::find_if(sets.begin(), sets.end(),
                         [](const ParameterSet& set) { return set.hides_weights; });
}

template <class Number>
MatrixXd doubles(const Number* entries, std::size_t rows, std::size_t cols) {
    return Eigen::Map<const RowMajor<Number>>(entries, static_cast<Index>(rows),
                                              static_cast<Index>(cols))
        .template cast<double>();
}

Eigen::VectorXd doubles(const std::vector<float>& values) {
    return Eigen::Map<const Eigen::VectorXf>(values.data(), static_cast<Index>(values.size()))
        .cast<double>();
}

/// Bytes of a key or a seed, which is drawn for this run alone.
template <class Bytes>
Bytes drawn(std::mt19937_64& random) {
    Bytes bytes;
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

void split(Head& head, base::MatrixView<const float> weights, std::size_t rank) {
    const auto parts = splitting::decompose(weights, rank, "the head");
    const base::MatrixView<const std::int8_t> residual(parts.residual.data(), parts.m, parts.n);
    const base::MatrixView<const std::int16_t> b(parts.b.data(), parts.rank, parts.n);
    const auto integers = artifact::integer_weights(residual, parts.left_factor(), b);
    head.integers = doubles(integers.data(), parts.m, parts.n);
    head.row_scale = doubles(parts.row_scale);
    head.davids = doubles(parts.residual.data(), parts.m, parts.n);
    head.norm = artifact::activation_norm(artifact::largest_norm(residual),
                                          base::parameters::parameter_sets.front().planes);
}

/// The integer of least magnitude with these residues (RING-2), one of each plane.
double lifted(const splitting::HiddenRows& rows, std::size_t at, std::size_t entries) {
    std::int64_t x = 0, product = 1;
    for (std::size_t p = 0; p < hidden_set().planes; ++p) {
        const std::int64_t prime = base::parameters::primes[p];
        while ((rows.davids[p * entries + at] - x) % prime != 0) x += product;
        product *= prime;
    }
    return static_cast<double>(x > product / 2 ? x - product : x);
}

void hide(Head& head, base::MatrixView<const float> weights, std::mt19937_64& random) {
    const ParameterSet& set = hidden_set();
    splitting::HiddenModel model{.n = weights.cols(), .entries = {}, .row_scale = {}};
    model.append(weights);
    head.integers = doubles(model.entries.data(), model.rows(), model.n);
    head.row_scale = doubles(model.row_scale);
    head.norm = base::hidden_width(model.n).norm;
    head.davids.resize(head.integers.rows(), head.integers.cols());
    const auto seed = drawn<masks::PublicMatrix::Seed>(random);
    const auto secret = drawn<std::array<std::uint8_t, 32>>(random);
    const auto check = drawn<std::array<std::uint8_t, 32>>(random);
    const splitting::PublicOfWidth common(set, seed, model.n);
    const auto key = splitting::hiding_key(set, secret, seed, 0, model);
    splitting::hide(common, model, key.span(), check, 1, [&](const splitting::HiddenRows& rows) {
        for (std::size_t at = 0; at < rows.count * model.n; ++at) {
            head.davids(static_cast<Index>(rows.first + at / model.n),
                        static_cast<Index>(at % model.n)) = lifted(rows, at, rows.count * model.n);
        }
    });
    head.davids /= head.davids.cwiseAbs().maxCoeff();
}

/// The model in float32, which notes what comes to its last group.
class NotingEngine : public base::Engine {
public:
    NotingEngine(std::vector<base::GroupShape> groups, const importing::Checkpoint& checkpoint)
        : last_(static_cast<base::GroupId>(groups.size() - 1)),
          engine_(std::move(groups), [&checkpoint](std::string_view name, std::size_t elements) {
              return checkpoint.floats(name, elements);
          }) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        if (group == last_) {
            for (std::size_t i = 0; i < input.rows(); ++i) {
                rows_.emplace_back(input.row(i).begin(), input.row(i).end());
            }
        }
        engine_.apply(group, input, outputs);
    }
    const std::vector<std::vector<float>>& rows() const { return rows_; }

private:
    base::GroupId last_;
    engines::FloatEngine engine_;
    std::vector<std::vector<float>> rows_;
};

std::vector<std::vector<float>> final_rows(const importing::Checkpoint& checkpoint,
                                           std::size_t count, std::mt19937_64& random) {
    const auto& config = checkpoint.config();
    const auto graph = graph::make_graph(config, [&](std::string_view name, std::size_t elements) {
        return checkpoint.floats(name, elements);
    });
    NotingEngine engine(graph::groups_of(config), checkpoint);
    graph::Workspace workspace;
    std::vector<float> logits;
    std::vector<TokenId> ids(
        std::min<std::size_t>(tokens_of_a_context, config.max_position_embeddings));
    while (engine.rows().size() < count) {
        for (TokenId& id : ids) id = static_cast<TokenId>(random() % config.vocab_size);
        graph::KvCache cache(config);
        graph->forward(engine, workspace,
                       graph::BatchEntry{cache, ids, graph::Logits::every_position}, logits);
    }
    return engine.rows();
}

}  // namespace

Head head_of(const importing::Checkpoint& checkpoint, const std::string& split_name,
             std::size_t rank, std::mt19937_64& random) {
    const base::GroupShape group = graph::groups_of(checkpoint.config()).back();
    const base::MemberShape& shape = group.members.front();
    const auto values = checkpoint.floats(shape.tensor + ".weight", shape.m * group.n);
    const base::MatrixView<const float> weights(values.data(), shape.m, group.n);
    Head head;
    head.weights = doubles(values.data(), shape.m, group.n);
    if (split_name == "hidden") {
        hide(head, weights, random);
    } else {
        split(head, weights, rank);
    }
    return head;
}

States states_of(const importing::Checkpoint& checkpoint, const Head& head, std::size_t count,
                 std::mt19937_64& random) {
    const auto rows = final_rows(checkpoint, count, random);
    States states{MatrixXd(head.integers.cols(), static_cast<Index>(count)), {}};
    std::vector<std::int16_t> q(static_cast<std::size_t>(head.integers.cols()));
    for (std::size_t i = 0; i < count; ++i) {
        const float scale =
            kernels::active().quantise(rows[i].data(), q.size(), head.norm, q.data());
        base::require(scale >= 0, "states_of: a final state is finite");
        states.hidden.col(static_cast<Index>(i)) =
            static_cast<double>(scale) * doubles(q.data(), q.size(), 1);
    }
    states.logits = (head.row_scale.asDiagonal() * (head.integers * states.hidden))
                        .cast<float>()
                        .cast<double>();
    return states;
}

}  // namespace slip::outputs
