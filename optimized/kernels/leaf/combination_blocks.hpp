// The layout of combinations (INTEG-1, INTEG-2), in every backend: [ceil(n/64)][planes][kappa][64],
// padded with zeros, each entry as its centred representative, |w| <= 125. So a shorter column
// meets the first entries of all combinations, and one plane of a column meets kappa rows of whole
// registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels {

constexpr std::size_t block_entries = 64;
constexpr std::size_t block_bytes = base::parameters::kappa * block_entries;

[[gnu::always_inline]] constexpr std::size_t blocks_of(std::size_t n) {
    return (n + block_entries - 1) / block_entries;
}

/// Blocks whose products 32-bit sums hold: 65,536 * 125 * 250 = 2,048,000,000 <= 2^31 - 1.
constexpr std::size_t pass_blocks = 1024;
static_assert(std::int64_t{pass_blocks * block_entries} * 125 * 250 <=
              std::numeric_limits<std::int32_t>::max());

/// totals += the products of n <= pass_blocks * block_entries entries of one plane of a column.
///
/// `Sums` is a type in an unnamed namespace of a leaf, so that no code that is compiled for one
/// leaf can stand in for another's: kappa sums, zero at first; add_block(w, v, prime) adds the
/// products of a block of 64 entries, add_to(totals) what has been summed.
template <class Sums>
[[gnu::always_inline]] inline void add_pass(const std::int8_t* w, std::size_t n, std::size_t planes,
                                            const std::uint8_t* v, std::uint32_t prime,
                                            std::int64_t* totals) {
    // Calls come before and after the sums, which so need no room on the stack (MASK-6).
    const std::size_t whole = n / block_entries * block_entries;
    std::uint8_t rest[block_entries] = {};
    if (whole < n) __builtin_memcpy(rest, v + whole, n - whole);
    Sums sums;
    for (std::size_t j = 0; j < whole; j += block_entries, w += planes * block_bytes) {
        sums.add_block(w, v + j, prime);
    }
    if (whole < n) sums.add_block(w, rest, prime);
    sums.add_to(totals);
    base::wipe(rest, sizeof rest);
}

/// Backend::combine.
template <class Sums>
[[gnu::always_inline]] inline void combine_blocks(const std::int8_t* packed, std::size_t n,
                                                  std::size_t planes, const std::uint8_t* v,
                                                  std::size_t b, std::uint8_t* out) {
    constexpr std::size_t pass = pass_blocks * block_entries;
    std::int64_t totals[base::parameters::kappa];
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t p = 0; p < planes; ++p, v += n, out += base::parameters::kappa) {
            __builtin_memset(totals, 0, sizeof totals);
            for (std::size_t j = 0; j < n; j += pass) {
                add_pass<Sums>(packed + (j / block_entries * planes + p) * block_bytes,
                               n - j < pass ? n - j : pass, planes, v + j, moduli[p].prime, totals);
            }
            for (std::size_t a = 0; a < base::parameters::kappa; ++a) {
                out[a] = reduce(totals[a], moduli[p]);
            }
        }
    }
    base::wipe(totals, sizeof totals);
}

}  // namespace slip::kernels
