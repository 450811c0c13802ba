// Two planes in one 16-bit multiplication: the residues of two planes are one modulo the product of
// their primes, and that fits 16 bits. Products of 16-bit numbers with 32-bit sums suffice:
// pmaddwd, which x86-64 has had from the start. Always inlined, as in residues.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels {

struct PlanePair {
    std::uint32_t first, second;  // primes
    std::uint32_t inverse;        // of the first modulo the second
    std::uint32_t product;        // of the primes
};

constexpr PlanePair pair_of(std::uint32_t first, std::uint32_t second) {
    std::uint32_t inverse = 1;
    while (first * inverse % second != 1) ++inverse;
    return {first, second, inverse, first * second};
}

/// Pair q has planes 2 q and 2 q + 1. A last plane without a second is joined with none.
inline constexpr std::array<PlanePair, 3> plane_pairs{pair_of(251, 241), pair_of(239, 233),
                                                      pair_of(229, 227)};

[[gnu::always_inline]] constexpr std::size_t pairs_of_planes(std::size_t planes) {
    return (planes + 1) / 2;
}

/// The number r of least magnitude, |r| <= 30245, with r = first and r = second modulo the primes
/// of pair q: first + p (((second - first) / p) mod p'). The primes of a pair differ by at most 10,
/// so that second + 2 p' - first is positive, and below 3 p'.
[[gnu::always_inline]] inline std::int16_t join(std::uint8_t first, std::uint8_t second,
                                                std::size_t q) {
    const PlanePair pair = plane_pairs[q];
    const std::uint32_t difference =
        canonical(canonical(second + 2 * pair.second - first, pair.second), pair.second);
    const std::uint32_t times = reduce_short(difference * pair.inverse, moduli[2 * q + 1]);
    return static_cast<std::int16_t>(lift(first + pair.first * times, pair.product));
}

/// Products of a weight and a joined residue that one 32-bit sum holds:
/// 127 * 30245 * 512 = 1,966,650,880 <= 2^31 - 1.
inline constexpr std::size_t pair_pass = 512;
inline constexpr std::int64_t largest_joined = (plane_pairs[0].product - 1) / 2;
static_assert(base::parameters::largest_weight * largest_joined * std::int64_t{pair_pass} <=
              std::numeric_limits<std::int32_t>::max());
/// And a product's sum, of fewer than 2^24 columns, is what reduce() takes, with a residue added.
static_assert(base::parameters::largest_weight * largest_joined + 1 <= std::int64_t{1} << 22);

}  // namespace slip::kernels
