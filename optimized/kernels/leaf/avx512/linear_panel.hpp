// The micro-kernel under every product with packed weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::kernels::avx512 {

/// The weights that a product asks the memory for while it multiplies: a step's from `at` on, and
/// `stride` bytes further on in every step. They need not exist.
struct Ahead {
    const std::int8_t* at;
    std::size_t stride;
};

/// Four planes of bytes.
struct Planes {
    const std::uint8_t *a, *b, *c, *d;
};

/// sums[l][r] += sum_j w[r][j] x_l[j] for the 64 rows of one panel and 4 planes. `steps` steps of 4
/// columns; w: [steps][64][4].
void multiply_panel(const std::int8_t* w, Planes x, std::size_t steps, std::int32_t* sums,
                    Ahead ahead);

}  // namespace slip::kernels::avx512
