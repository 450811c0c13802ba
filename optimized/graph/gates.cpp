#include "optimized/graph/gates.hpp"

#include <cstddef>

#include "optimized/graph/operations.hpp"
#include "optimized/kernels/exponential.hpp"

namespace slip::graph {

void gelu_gate(std::span<float> gate, std::span<const float> up) {
    gelu(gate);
    for (std::size_t j = 0; j < gate.size(); ++j) gate[j] *= up[j];
}

// tanh(u) = 1 - 2 / (1 + exp(2 u)). The exponential stops at exp(87), where the quotient has long
// vanished beside 1, and at exp(-87), where 1 has swallowed it.
void soft_cap(std::span<float> x, float cap) {
    constexpr std::size_t width = 4;  // of every baseline instruction set
    using Floats = kernels::Lanes<width>::Floats;
    const auto capped = [cap](auto u) { return cap - 2.0F * cap / (1.0F + u); };
    std::size_t j = 0;
    for (; j + width <= x.size(); j += width) {
        Floats u{};
        __builtin_memcpy(&u, x.data() + j, sizeof u);
        u = capped(kernels::exponential<width>(u * (2.0F / cap)));
        __builtin_memcpy(x.data() + j, &u, sizeof u);
    }
    for (; j < x.size(); ++j) x[j] = capped(kernels::exponential<1>(x[j] * (2.0F / cap)));
}

void multiply(std::span<float> x, float factor) {
    for (float& value : x) value *= factor;
}

}  // namespace slip::graph
