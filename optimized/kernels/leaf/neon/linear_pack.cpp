// The layout of packed weights, which the products read from front to back.
#include "optimized/kernels/leaf/neon/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {

std::size_t packed_bytes(std::size_t m, std::size_t n) {
    return panels_of(m) * steps_of(n) * step_bytes;
}

void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    for (std::size_t i = 0; i < panels_of(m) * panel_rows; ++i) {
        for (std::size_t j = 0; j < steps_of(n) * step_columns; ++j) {
            const std::size_t step = i / panel_rows * steps_of(n) + j / step_columns;
            raw(packed)[step * step_bytes + i % panel_rows * step_columns + j % step_columns] =
                i < m && j < n ? w[i * n + j] : std::int8_t{0};
        }
    }
}

}  // namespace slip::kernels::neon
