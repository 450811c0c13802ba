// What products with packed weights are made of: the planes of X as a panel meets them, the sums of
// a panel, and what is left of these. Not inlined, so that each is proved once; in a file of their
// own, so that their callers know no more of them than what is declared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels::neon {

/// lifted = [step][4 planes][4 columns]: the lifts of `width` residues of each of four planes, x[l]
/// modulo the prime of of_planes[l], with zeros to a whole step.
void lift_planes(const std::uint8_t* const* x, const Modulus* const* of_planes, std::size_t width,
                 std::int8_t* lifted);

/// sums[plane][8 rows] of one panel, `steps` steps. w: [steps][8][4]; x: [steps][4 planes][4].
void multiply_panel(const std::int8_t* w, const std::int8_t* x, std::size_t steps,
                    std::int32_t* sums);

/// y[r] = sums[r] modulo a prime, for `rows` <= 8 rows of one panel and a plane of Y: the first
/// block of columns sets them, later ones add to what is there.
void finish(const std::int32_t* sums, std::size_t rows, bool first_block, const Modulus& modulus,
            std::uint8_t* y);

}  // namespace slip::kernels::neon
