// The micro-kernel under every product with packed weights, and what is left of its sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels::avx512 {

/// The weights that a product asks the memory for while it multiplies: a step's from `at` on, and
/// `stride` bytes further on in every step. They need not exist.
struct Ahead {
    const std::int8_t* at;
    std::size_t stride;
};

/// sums[l][r] += sum_j w[r][j] x_l[j] for the 64 rows of one panel and the planes x[0], x[1], ...:
/// 1, 4 or 5 of them. `steps` steps of 4 columns; w: [steps][64][4].
void multiply_panel_by_1(const std::int8_t* w, const std::uint8_t* const* x, std::size_t steps,
                         std::int32_t* sums, Ahead ahead);
void multiply_panel_by_4(const std::int8_t* w, const std::uint8_t* const* x, std::size_t steps,
                         std::int32_t* sums, Ahead ahead);
void multiply_panel_by_5(const std::int8_t* w, const std::uint8_t* const* x, std::size_t steps,
                         std::int32_t* sums, Ahead ahead);

/// y[r] = sums[r] modulo a prime, for `rows` <= 64 rows of one panel and a plane of Y: the first
/// block of columns sets them, later ones add to what is there. Not inlined, so that it is proved
/// once.
void finish(const std::int32_t* sums, std::size_t rows, bool first_block, const Modulus& modulus,
            std::uint8_t* y);

}  // namespace slip::kernels::avx512
