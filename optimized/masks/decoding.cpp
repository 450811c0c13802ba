#include "optimized/masks/decoding.hpp"

#include "optimized/masks/stack.hpp"

namespace slip::masks {
namespace {

/// Z = (v_2 l_1 - v_1 l_2) / (u_1 v_2 - u_2 v_1), where the divisor is L or -L.
Decoding decoding_of(const base::HiddenWidth& width) {
    constexpr double reciprocal = 1.0 / static_cast<double>(base::parameters::modulus(most_planes));
    const auto as_doubles = [](const std::array<std::int64_t, 2>& pair) {
        return std::array{static_cast<double>(pair[0]), static_cast<double>(pair[1])};
    };
    const auto u = as_doubles(width.u), v = as_doubles(width.v);
    const double sign = u[0] * v[1] > u[1] * v[0] ? 1 : -1;
    const auto s = static_cast<double>(width.s);
    return {.u = {u[0], u[1]},
            .of_lift = {sign * v[1] * reciprocal, sign * v[0] * reciprocal},
            .s = s,
            .reciprocal = 1 / s,
            .least = -static_cast<double>(width.s / 2)};
}

}  // namespace

void decode_products(const base::HiddenWidth& width, std::span<std::int64_t> products,
                     const Backend& backend) {
    backend.decode(decoding_of(width), products.size(), products.data());
    wipe_used_stack();
}

}  // namespace slip::masks
