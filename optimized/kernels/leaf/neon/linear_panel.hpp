// The micro-kernel under every product with packed weights.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip::kernels::neon {

/// sums[plane][8 rows] of one panel, `steps` steps. w: [steps][8][4]; x: [steps][4 planes][4].
void multiply_panel(const std::int8_t* w, const std::int8_t* x, std::size_t steps,
                    std::int32_t* sums);

}  // namespace slip::kernels::neon
