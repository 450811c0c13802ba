// The micro-kernel under every product with packed weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::kernels::avx2 {

/// sums[v][r] = sum_j w[r][j] x[v * stride + j] for the 16 rows of one panel and 1 to 4 vectors.
/// `steps` steps of 2 columns, at most pair_pass columns; w: [steps][16][2].
void multiply_panel_by_1(const std::int8_t* w, const std::int16_t* x, std::size_t stride,
                         std::size_t steps, std::int32_t* sums);
void multiply_panel_by_2(const std::int8_t* w, const std::int16_t* x, std::size_t stride,
                         std::size_t steps, std::int32_t* sums);
void multiply_panel_by_3(const std::int8_t* w, const std::int16_t* x, std::size_t stride,
                         std::size_t steps, std::int32_t* sums);
void multiply_panel_by_4(const std::int8_t* w, const std::int16_t* x, std::size_t stride,
                         std::size_t steps, std::int32_t* sums);

}  // namespace slip::kernels::avx2
