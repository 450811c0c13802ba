// Residues as signed 16-bit limbs, so that 16-bit multiplications with 32-bit sums suffice:
// pmaddwd, which x86-64 has had from the start. Always inlined, as in mersenne31.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels {

/// lift(r) = sum_l 2^(16 l) limb[l] with every limb but the last in [-2^15, 2^15 - 1]. The last is
/// at most (2^30 - 1 + 2^15) / 2^16, so 2^14.
template <class P>
struct Limbs {
    static constexpr std::size_t count = sizeof(typename P::Residue) / 2;
    std::int16_t limb[count];
};

template <class P>
[[gnu::always_inline]] constexpr Limbs<P> split(typename P::Residue r) {
    Limbs<P> limbs{};
    auto v = lift_p31(r);
    for (std::int16_t& limb : limbs.limb) {
        limb = static_cast<std::int16_t>(v);  // v mod 2^16, centred
        v = (v - limb) >> 16;
    }
    return limbs;
}

/// Products of a weight and a limb that one 32-bit sum holds:
/// 127 * 2^15 * 512 = 2,130,706,432 <= 2^31 - 1.
inline constexpr std::size_t limb_pass = 512;
static_assert(base::parameters::largest_weight * (std::int64_t{1} << 15) *
                  std::int64_t{limb_pass} <=
              std::numeric_limits<std::int32_t>::max());

/// The residue of the sum of fewer than 2^24 products of a weight and a lifted residue, from the
/// sums over its limbs; plus `before`. It is below 2^24 * 127 * 2^30 < 2^61 in absolute value.
[[gnu::always_inline]] inline std::uint32_t recombine(const std::int64_t (&sums)[2],
                                                      std::uint32_t before) {
    return embed_p31(sums[0] + sums[1] * 65536 + before);
}

}  // namespace slip::kernels
