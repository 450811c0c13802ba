// What the kernels of this backend share: the packed layout and lifted residues.
//
// W is cut into panels of 8 rows and steps of 4 columns, [ceil(m/8)][ceil(n/4)][8][4], padded with
// zeros: half a step is a register whose 32-bit lanes are rows, each with the 4 weights that sdot
// multiplies by 4 signed bytes and sums. A residue enters as its lift, at most 125 in magnitude.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/residues.hpp"

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

}  // namespace slip::kernels::neon
