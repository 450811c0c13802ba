// MODEL-4, MODEL-5: the checkpoint in float32.
#include <array>
#include <string>
#include <utility>

#include "optimized/engines/engines.hpp"
#include "optimized/engines/shapes.hpp"

namespace slip::engines {
namespace {

using base::MatrixView;

/// sum_j w[j] x[j] in a fixed order: 16 partial sums, lane l over every j with j mod 16 = l, added
/// from left to right. The fixed lanes are what lets a compiler use vectors without reordering.
float row_times_vector(std::span<const float> w, std::span<const float> x) {
    constexpr std::size_t lanes = 16;
    const float* a = w.data();
    const float* b = x.data();
    const std::size_t whole = w.size() / lanes * lanes;
    std::array<float, lanes> partial{};
    for (std::size_t j = 0; j < whole; j += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) partial[l] += a[j + l] * b[j + l];
    }
    for (std::size_t j = whole; j < w.size(); ++j) partial[j - whole] += a[j] * b[j];
    float total = 0;
    for (const float lane : partial) total += lane;
    return total;
}

/// output.row(c) = W input.row(c).
void multiply(MatrixView<const float> w, MatrixView<const float> input, MatrixView<float> output) {
    // Rows outside, columns inside: a row of W is read once for the whole batch.
    for (std::size_t row = 0; row < w.rows(); ++row) {
        for (std::size_t c = 0; c < input.rows(); ++c) {
            output.row(c)[row] = row_times_vector(w.row(row), input.row(c));
        }
    }
}

}  // namespace

FloatEngine::FloatEngine(
    std::vector<base::GroupShape> groups,
    const std::function<std::vector<float>(std::string_view, std::size_t)>& weights)
    : groups_(std::move(groups)) {
    for (const base::GroupShape& group : groups_) {
        auto& of_group = weights_.emplace_back();
        for (const base::MemberShape& member : group.members) {
            std::vector<float> values =
                weights(member.tensor + ".weight", member.tensor_rows * group.n);
            if (member.m != member.tensor_rows) {
                const auto first =
                    values.begin() + static_cast<std::ptrdiff_t>(member.first_row * group.n);
                values = {first, first + static_cast<std::ptrdiff_t>(member.m * group.n)};
            }
            of_group.push_back(std::move(values));
        }
    }
}

void FloatEngine::apply(base::GroupId group, MatrixView<const float> input,
                        std::span<const MatrixView<float>> outputs) {
    base::require(group < groups_.size(), "FloatEngine::apply: no such group");
    const std::vector<base::MemberShape>& members = groups_[group].members;
    const base::ProductShape shape = groups_[group].product();
    require_group_shapes(
        shape.inputs(), members.size(),
        [&](std::size_t i) { return shape.positions() * members[i].m; }, input, outputs);
    // CNN-3: a convolution multiplies every patch as a column.
    base::for_each_multiplied(shape, input.elements(), [&](auto elements, std::size_t first) {
        const MatrixView<const float> columns(elements.data(), elements.size() / shape.n, shape.n);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const std::size_t m = members[i].m;
            multiply({weights_[group][i].data(), m, shape.n}, columns,
                     {outputs[i].data() + first * m, columns.rows(), m});
        }
    });
}

}  // namespace slip::engines
