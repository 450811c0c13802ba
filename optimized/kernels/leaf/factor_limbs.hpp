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

/// Of one element, which is the first or the second of its pair.
template <unsigned Limbs>
[[gnu::always_inline]] inline void split_element(std::int64_t z, std::size_t place,
                                                 std::int16_t (&limb)[Limbs][2]) {
    constexpr unsigned bits = factor_limb_bits;
    constexpr unsigned above = 64 - bits;
    // Elements are split one by one: vectors of them gain nothing, and their limbs stand far apart.
    // MemorySanitizer would take what assembly reads for a branch.
#if !defined(SLIP_MEMORY_SANITIZER)
    asm("" : "+r"(z));
#endif
    for (unsigned l = 0; l + 1 < Limbs; ++l) {
        // The low bits as a signed number; what is left is a multiple of 2^bits.
        const std::int64_t low =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(z) << above) >> above;
        limb[l][place] = static_cast<std::int16_t>(low);
        z = (z - low) >> bits;
    }
    limb[Limbs - 1][place] = static_cast<std::int16_t>(z);
}

/// Of k elements, and of a zero if k is odd. Requires: k <= factor_pass, Limbs >= limbs_of(max
/// |z|).
template <unsigned Limbs>
[[gnu::always_inline]] inline void split(const std::int64_t* z, std::size_t k,
                                         FactorLimbs<Limbs>& limbs) {
    for (std::size_t pair = 0; pair < k / 2; ++pair) {
        split_element(z[2 * pair], 0, limbs.limb[pair]);
        split_element(z[2 * pair + 1], 1, limbs.limb[pair]);
    }
    if (k % 2 != 0) {
        split_element(z[k - 1], 0, limbs.limb[k / 2]);
        split_element(0, 1, limbs.limb[k / 2]);
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
