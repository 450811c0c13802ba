#include "experiments/bench/int8_engine.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "experiments/bench/machine.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/split/decomposition.hpp"

namespace slip::bench {

Int8Engine::Int8Engine(
    std::vector<base::GroupShape> groups,
    const std::function<std::vector<float>(std::string_view, std::size_t)>& weights)
    : shapes_(std::move(groups)) {
    for (const base::GroupShape& shape : shapes_) {
        auto& members = groups_.emplace_back();
        for (const base::MemberShape& member : shape.members) {
            const std::vector<float> w = weights(member.tensor + ".weight", member.m * shape.n);
            splitting::IntegerMatrix integers =
                splitting::decompose({w.data(), member.m, shape.n}, 0, member.tensor);
            for (float& scale : integers.row_scale) {
                scale = std::ldexp(scale, base::parameters::residual_shift);
            }
            members.push_back({Int8Matrix(integers.residual.data(), member.m, shape.n),
                               std::move(integers.row_scale)});
        }
    }
}

void Int8Engine::apply(base::GroupId id, base::MatrixView<const float> input,
                       std::span<const base::MatrixView<float>> outputs) {
    constexpr std::int32_t largest = 127;
    const std::size_t n = shapes_[id].n;
    const std::size_t stride = (n + 3) / 4 * 4;
    quantised_.resize(std::max(quantised_.size(), n));
    activations_.resize(std::max(activations_.size(), input.rows() * stride));
    scales_.resize(std::max(scales_.size(), input.rows()));
    for (std::size_t t = 0; t < input.rows(); ++t) {
        scales_[t] = kernels::active().quantise(input.row(t).data(), n, largest, quantised_.data());
        std::transform(quantised_.begin(), quantised_.begin() + static_cast<std::ptrdiff_t>(n),
                       activations_.begin() + static_cast<std::ptrdiff_t>(t * stride),
                       [](std::int16_t q) { return static_cast<std::uint8_t>(q + 128); });
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Member& member = groups_[id][i];
        const std::size_t m = member.values.rows();
        products_.resize(std::max(products_.size(), input.rows() * m));
        member.values.multiply(activations_.data(), input.rows(), products_.data());
        for (std::size_t t = 0; t < input.rows(); ++t) {
            float* const out = outputs[i].row(t).data();
            const std::int32_t* const y = products_.data() + t * m;
            const float* const row_scale = member.row_scale.data();
            for (std::size_t r = 0; r < m; ++r) {
                out[r] = static_cast<float>(y[r]) * row_scale[r] * scales_[t];
            }
        }
    }
}

std::size_t Int8Engine::bytes() const {
    std::size_t total = 0;
    for (const auto& members : groups_) {
        for (const Member& member : members) total += member.values.packed().size();
    }
    return total;
}

void Int8Engine::read() const {
    for (const auto& members : groups_) {
        for (const Member& member : members) {
            read_all(member.values.packed());
        }
    }
}

}  // namespace slip::bench
