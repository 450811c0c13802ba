// What the kernels of this backend share: the packed layout and digits of lifted residues.
//
// W is cut into panels of 8 rows and steps of 4 columns, [ceil(m/8)][ceil(n/4)][8][4], padded with
// zeros: half a step is a register whose 32-bit lanes are rows, each with the 4 weights that sdot
// multiplies by 4 signed bytes and sums. A lifted residue is its signed bytes,
// lift(r) = sum_l 2^(8 l) digit_l with digit_l in [-128, 127]: 4 digits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::neon {

constexpr std::size_t panel_rows = 8;
constexpr std::size_t step_columns = 4;
constexpr std::size_t step_bytes = panel_rows * step_columns;

// Functions of a header that several files include are static and always inlined: these files are
// compiled for the dot product instructions, and no code of theirs may stand in for a baseline
// function of the same name.

[[gnu::always_inline]] static inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] static inline std::size_t panels_of(std::size_t m) {
    return (m + panel_rows - 1) / panel_rows;
}
[[gnu::always_inline]] static inline std::size_t steps_of(std::size_t n) {
    return (n + step_columns - 1) / step_columns;
}

template <class P>
constexpr std::size_t digits = sizeof(typename P::Residue);

[[gnu::always_inline]] static inline std::int32_t lift(std::uint32_t r) { return lift_p31(r); }

/// sum_l 2^(8 l) sums[l stride] + before, mod p: below 2^56 + 2^31 in absolute value.
[[gnu::always_inline]] static inline std::uint32_t recombine(const std::int32_t* sums,
                                                             std::size_t stride,
                                                             std::uint32_t before) {
    std::int64_t total = before;
    for (std::size_t l = 0; l < 4; ++l) {
        total += std::int64_t{sums[l * stride]} * (std::int64_t{1} << (8 * l));
    }
    return embed_p31(total);
}
}  // namespace slip::kernels::neon
