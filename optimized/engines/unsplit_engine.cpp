// MODEL-4: the integer model of DECO-1 without a protocol, W_int in one piece.
#include <utility>

#include "optimized/artifact/integer_model.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/engines/quantised_columns.hpp"
#include "optimized/engines/shapes.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::engines {
namespace {

using base::MatrixView;

/// y = W_int[row] q in two's complement mod 2^64, which is the product over Z by ENC-5.
std::int64_t row_times_vector(std::span<const std::int64_t> w, std::span<const std::int16_t> q) {
    std::uint64_t sum = 0;
    for (std::size_t j = 0; j < w.size(); ++j) {
        sum += static_cast<std::uint64_t>(w[j]) * static_cast<std::uint64_t>(std::int64_t{q[j]});
    }
    return static_cast<std::int64_t>(sum);
}

/// y.row(c) = W_int columns.row(c); a row of W_int is read once for the whole batch.
void multiply(MatrixView<const std::int64_t> w, MatrixView<const std::int16_t> columns,
              MatrixView<std::int64_t> y) {
    for (std::size_t row = 0; row < w.rows(); ++row) {
        for (std::size_t c = 0; c < y.rows(); ++c) {
            y.row(c)[row] = row_times_vector(w.row(row), columns.row(c));
        }
    }
}

}  // namespace

UnsplitEngine::UnsplitEngine(const artifact::CharlieArtifact& charlie,
                             const artifact::DavidArtifact& david)
    : UnsplitEngine((artifact::require_same_split(charlie, david), charlie.groups()),
                    david.weights()) {}

UnsplitEngine::UnsplitEngine(std::vector<artifact::CharlieGroup> groups,
                             const kernels::OffloadedWeights& stacked)
    : groups_(std::move(groups)) {
    base::require(groups_.size() == stacked.size(), "UnsplitEngine: as many matrices as groups");
    for (base::GroupId g = 0; g < groups_.size(); ++g) {
        auto& of_group = weights_.emplace_back();
        std::size_t first_row = 0;
        for (const artifact::CharlieMember& member : groups_[g].members) {
            const auto residual = stacked[g].rows_from(first_row, member.shape.m);
            of_group.push_back(artifact::integer_weights(residual, member.a, member.b));
            first_row += member.shape.m;
        }
    }
}

void UnsplitEngine::apply(base::GroupId group, MatrixView<const float> input,
                          std::span<const MatrixView<float>> outputs) {
    base::require(group < weights_.size(), "UnsplitEngine::apply: no such group");
    const artifact::CharlieGroup& own = groups_[group];
    const base::ProductShape shape = own.product();
    require_group_shapes(
        shape.inputs(), own.members.size(), [&](std::size_t i) { return own.product(i).outputs(); },
        input, outputs);
    QuantisedColumns quantised;
    quantised.assign(own, input);
    base::for_each_multiplied(
        shape, quantised.values().elements(), [&](auto elements, std::size_t first) {
            const MatrixView<const std::int16_t> columns(elements.data(), elements.size() / shape.n,
                                                         shape.n);
            for (std::size_t i = 0; i < own.members.size(); ++i) {
                const artifact::CharlieMember& member = own.members[i];
                const MatrixView<const std::int64_t> w(weights_[group][i].data(), member.shape.m,
                                                       shape.n);
                std::vector<std::int64_t> products(columns.rows() * w.rows());
                const MatrixView<std::int64_t> y(products.data(), columns.rows(), w.rows());
                multiply(w, columns, y);
                for (std::size_t c = 0; c < y.rows(); ++c) {
                    const float scale = quantised.scale((first + c) / shape.positions());
                    kernels::active().dequantise(y.row(c).data(), member.row_scale.data(), scale,
                                                 w.rows(),
                                                 outputs[i].data() + (first + c) * w.rows());
                }
            }
        });
}

}  // namespace slip::engines
