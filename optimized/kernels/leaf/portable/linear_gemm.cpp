// Y = W X mod L (LIN-1, MASK-3): two planes of a column are a vector of 16-bit numbers
// (plane_pairs.hpp), whose products with the rows of W are summed and reduced once per panel.
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/portable/linear_panel.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// R rows of V vectors of Y from one panel, columns first .. first + width - 1 of W.
template <std::size_t R, std::size_t V>
[[gnu::noinline]] void multiply_rows(const Product& product, std::size_t i, std::size_t vector,
                                     std::size_t first, std::size_t width, const std::int16_t* x) {
    std::int64_t sums[R * V] = {};
    const std::int8_t* const w = product.w + i * product.n + first;
    std::size_t j = 0;
    for (; width - j > pair_pass; j += pair_pass) {
        add_products<R, V>(w + j, product.n, x + j, pair_pass, sums);
    }
    add_products<R, V>(w + j, product.n, x + j, width - j, sums);
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t v = 0; v < V; ++v) {
            finish(product, vector + v, i + r, first == 0, sums[r * V + v]);
        }
    }
    base::wipe(sums, sizeof sums);
}

/// V vectors of Y, R rows at a time.
template <std::size_t R, std::size_t V>
[[gnu::noinline]] void multiply_vectors(const Product& product, std::size_t vector) {
    alignas(64) std::int16_t joined[V * panel];
    std::size_t first = 0;
    do {  // once if W has no columns
        const std::size_t width = std::min(panel, product.n - first);
        for (std::size_t v = 0; v < V; ++v) {
            join_planes(product, vector + v, first, width, joined + v * panel);
        }
        std::size_t i = 0;
        for (; i + R <= product.m; i += R) {
            multiply_rows<R, V>(product, i, vector, first, width, joined);
        }
        for (; i < product.m; ++i) {
            multiply_rows<1, V>(product, i, vector, first, width, joined);
        }
        first += panel;
    } while (first < product.n);
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    for (std::size_t v = 0; v < V; ++v) {
        base::wipe(joined + v * panel, std::min(panel, product.n) * sizeof *joined);
    }
}

/// b columns. Two rows and four vectors share their operands; so do four rows and two vectors.
[[gnu::always_inline]] inline void multiply(const Product& product, std::size_t b) {
    const std::size_t vectors = b * pairs_of_planes(product.planes);
    std::size_t v = 0;
    for (; v + 4 <= vectors; v += 4) multiply_vectors<2, 4>(product, v);
    for (; v + 2 <= vectors; v += 2) multiply_vectors<4, 2>(product, v);
    if (v < vectors) multiply_vectors<4, 1>(product, v);
}

}  // namespace

void gemm(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
          std::size_t b, std::size_t planes, std::uint8_t* y) {
    multiply({raw(packed), m, n, planes, 0, x, y}, b);
}

void gemm_plane(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                std::size_t b, std::size_t plane, std::uint8_t* y) {
    multiply({raw(packed), m, n, 1, plane, x, y}, b);
}

}  // namespace slip::kernels::portable
