// The layout of packed weights, which the products read from front to back.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// One row of W, a step at a time; `packed` is the row's place in the first step of its panel.
void pack_row(const std::int8_t* row, std::size_t n, std::int8_t* packed) {
    std::size_t j = 0;
    for (; j + step_columns <= n; j += step_columns, packed += step_bytes) {
        __builtin_memcpy(packed, row + j, step_columns);
    }
    if (j == n) return;
    for (std::size_t d = 0; d < step_columns; ++d) packed[d] = j + d < n ? row[j + d] : 0;
}

}  // namespace

std::size_t packed_bytes(std::size_t m, std::size_t n) {
    return panels_of(m) * steps_of(n) * step_bytes;
}

void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    const std::size_t panel_bytes = steps_of(n) * step_bytes;
    for (std::size_t i = 0; i < panels_of(m) * panel_rows; ++i) {
        std::int8_t* const place =
            raw(packed) + i / panel_rows * panel_bytes + i % panel_rows * step_columns;
        if (i < m) {
            pack_row(w + i * n, n, place);
        } else {
            for (std::size_t at = 0; at < panel_bytes; at += step_bytes) {
                __builtin_memset(place + at, 0, step_columns);
            }
        }
    }
}

}  // namespace slip::kernels::avx512
