// What the backends' outer products share: the limbs of z that one pass of columns of A meets
// (DECO-7), in pairs, which the 16-bit multiplications with 32-bit sums take, and A's exponents.
// Always inlined, as in leaf/residues.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

[[gnu::always_inline]] constexpr std::size_t pairs_of(std::size_t k) { return (k + 1) / 2; }

/// limb[c / 2][l][c % 2]: z[c] = sum_{l < Limbs} 2^(bits l) limb_l, every limb in [-2^(bits - 1),
/// 2^(bits - 1)].
template <unsigned Limbs>
struct FactorLimbs {
    alignas(64) std::int16_t limb[factor_pass / 2][Limbs][2];
};

/// Of k elements, and of a zero if k is odd. Requires: k <= factor_pass, Limbs >= limbs_of(max
/// |z|).
template <unsigned Limbs>
[[gnu::always_inline]] inline void split(const std::int64_t* z, std::size_t k,
                                         FactorLimbs<Limbs>& limbs) {
    constexpr unsigned bits = factor_limb_bits;
    constexpr unsigned above = 64 - bits;
    for (std::size_t c = 0; c < 2 * pairs_of(k); ++c) {
        std::int64_t rest = c < k ? z[c] : 0;
        for (unsigned l = 0; l + 1 < Limbs; ++l) {
            // The low bits as a signed number; what is left is a multiple of 2^bits.
            const std::int64_t limb =
                static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) << above) >> above;
            limbs.limb[c / 2][l][c % 2] = static_cast<std::int16_t>(limb);
            rest = (rest - limb) >> bits;
        }
        limbs.limb[c / 2][Limbs - 1][c % 2] = static_cast<std::int16_t>(rest);
    }
}

/// PARAM-2: the exponent of a valid row of A, k long. A is secret and compilers make branches of a
/// maximum, so the magnitudes are joined by OR: of multiples of 2^e up to 2047 2^e that is another,
/// no less than any of them.
[[gnu::always_inline]] inline std::uint8_t exponent_of(const std::int32_t* row, std::size_t k) {
    std::uint64_t bits = 0;
    for (std::size_t c = 0; c < k; ++c) {
        const std::int64_t entry = row[c], sign = entry >> 63;
        bits |= static_cast<std::uint64_t>((entry ^ sign) - sign);  // |entry|
    }
    return static_cast<std::uint8_t>(row_exponent(bits));
}

}  // namespace slip::kernels
