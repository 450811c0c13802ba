#include "experiments/bench/int8_engine.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "optimized/kernels/registry.hpp"
#include "optimized/split/decomposition.hpp"

namespace slip::bench {
namespace {

/// y[r] = sum_j w[r][j] x[j] for R rows that are n apart; fits 32 bits by the choice of qa_max.
template <std::size_t R>
void multiply_rows(const std::int8_t* w, std::size_t n, const std::int16_t* x,
                   std::int32_t (&y)[R]) {
    std::int32_t sums[R] = {};
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < R; ++r) sums[r] += std::int16_t{w[r * n + j]} * x[j];
    }
    std::copy(sums, sums + R, y);
}

template <std::size_t R>
void scaled_rows(const std::int8_t* w, std::size_t n, const std::int16_t* x, const float* row_scale,
                 float token_scale, float* out) {
    std::int32_t y[R];
    multiply_rows<R>(w, n, x, y);
    for (std::size_t r = 0; r < R; ++r) {
        out[r] = static_cast<float>(y[r]) * row_scale[r] * token_scale;
    }
}

}  // namespace

Int8Engine::Int8Engine(
    std::vector<GroupShape> groups,
    const std::function<std::vector<float>(std::string_view, std::size_t)>& weights)
    : shapes_(std::move(groups)) {
    for (const GroupShape& shape : shapes_) {
        Group& group = groups_.emplace_back();
        std::uint64_t norm = 0;
        for (const MemberShape& member : shape.members) {
            const std::vector<float> w = weights(member.tensor + ".weight", member.m * shape.n);
            IntegerMatrix integers = decompose({w.data(), member.m, shape.n}, 0, member.tensor);
            norm = std::max(norm, largest_row_norm(integers));
            for (float& scale : integers.row_scale) scale = std::ldexp(scale, residual_shift);
            group.members.push_back({std::move(integers.residual), std::move(integers.row_scale)});
        }
        group.qa_max = largest_activation(Profile::p31, norm);
    }
}

void Int8Engine::apply(GroupId id, MatrixView<const float> input,
                       std::span<const MatrixView<float>> outputs) {
    const std::size_t n = shapes_[id].n;
    if (quantised_.size() < n) quantised_.resize(n);
    for (std::size_t t = 0; t < input.rows(); ++t) {
        const float scale = kernels::active().quantise(input.row(t).data(), n, groups_[id].qa_max,
                                                       quantised_.data());
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const Member& member = groups_[id].members[i];
            const std::span<float> out = outputs[i].row(t);
            std::size_t row = 0;
            for (; row + 4 <= out.size(); row += 4) {
                scaled_rows<4>(member.values.data() + row * n, n, quantised_.data(),
                               member.row_scale.data() + row, scale, out.data() + row);
            }
            for (; row < out.size(); ++row) {
                scaled_rows<1>(member.values.data() + row * n, n, quantised_.data(),
                               member.row_scale.data() + row, scale, out.data() + row);
            }
        }
    }
}

}  // namespace slip::bench
