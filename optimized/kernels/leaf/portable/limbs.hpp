// Residues as pairs of signed 16-bit limbs, so that 16-bit multiplications with 32-bit sums
// suffice: baseline x86-64 does eight of those an instruction (pmaddwd).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::portable {

/// lift(r) = low + 2^16 high. As |lift(r)| <= (p - 1) / 2 = 2^30 - 1, low lies in
/// [-2^15, 2^15 - 1] and |high| <= (2^30 - 1 + 2^15) / 2^16, so |high| <= 2^14.
struct Limbs {
    std::int16_t low;
    std::int16_t high;
};

constexpr Limbs split_p31(std::uint32_t r) {
    const std::int32_t v = lift_p31(r);
    const auto low = static_cast<std::int16_t>(v);  // v mod 2^16, centred
    return {low, static_cast<std::int16_t>((v - low) >> 16)};
}

/// Products of a weight and a limb that one 32-bit sum holds:
/// 127 * 2^15 * 512 = 2,130,706,432 <= 2^31 - 1.
inline constexpr std::size_t pass = 512;
static_assert(127 * (std::int64_t{1} << 15) * std::int64_t{pass} <=
              std::numeric_limits<std::int32_t>::max());

/// The sum of products that the sums over both limbs stand for. Fewer than 2^24 products of a
/// weight and a lifted residue sum to less than 2^24 * 127 * 2^30 < 2^61, which embed_p31 takes
/// even with a residue added.
constexpr std::int64_t recombine(std::int32_t low, std::int32_t high) {
    return low + std::int64_t{high} * 65536;
}

}  // namespace slip::kernels::portable
