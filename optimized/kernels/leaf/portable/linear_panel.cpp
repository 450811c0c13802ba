#include "optimized/kernels/leaf/portable/linear_panel.hpp"

#include <algorithm>

#include "optimized/base/secret_buffer.hpp"

namespace slip::kernels::portable {
namespace {

/// The same for any of the shapes. Functions that are no templates stand in the section of all
/// code, which proofs/asm/online compares with what ships.
template <std::size_t R, std::size_t V>
[[gnu::always_inline]] inline void add(const std::int8_t* w, std::size_t stride,
                                       const std::int16_t* x, std::size_t n, std::int64_t* sums) {
    std::int32_t partial[R][V] = {};
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < R; ++r) {
            const std::int16_t weight = w[r * stride + j];
            for (std::size_t v = 0; v < V; ++v) partial[r][v] += weight * x[v * panel + j];
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t v = 0; v < V; ++v) sums[r * V + v] += partial[r][v];
    }
    base::wipe(partial, sizeof partial);  // MASK-6
}

}  // namespace

void join_planes(const Product& product, std::size_t vector, std::size_t first, std::size_t width,
                 std::int16_t* joined) {
    const std::size_t pairs = pairs_of_planes(product.planes);
    const std::size_t q = vector % pairs;
    const std::uint8_t* const x =
        product.x + (vector / pairs * product.planes + 2 * q) * product.n + first;
    if (2 * q + 1 == product.planes) {
        std::copy_n(x, width, joined);
    } else {
        for (std::size_t j = 0; j < width; ++j) joined[j] = join(x[j], x[product.n + j], q);
    }
}

#define SLIP_ADD_PRODUCTS(R, V)                                                                  \
    void add_products_##R##_##V(const std::int8_t* w, std::size_t stride, const std::int16_t* x, \
                                std::size_t n, std::int64_t* sums) {                             \
        add<R, V>(w, stride, x, n, sums);                                                        \
    }
SLIP_ADD_PRODUCTS(2, 4)
SLIP_ADD_PRODUCTS(4, 2)
SLIP_ADD_PRODUCTS(4, 1)
SLIP_ADD_PRODUCTS(1, 4)
SLIP_ADD_PRODUCTS(1, 2)
SLIP_ADD_PRODUCTS(1, 1)
#undef SLIP_ADD_PRODUCTS

void finish(const Product& product, std::size_t vector, std::size_t i, bool first_panel,
            std::int64_t sum) {
    const std::size_t pairs = pairs_of_planes(product.planes);
    const std::size_t plane = 2 * (vector % pairs);
    std::uint8_t* y = product.y + (vector / pairs * product.planes + plane) * product.m + i;
    for (std::size_t p = plane; p < std::min(plane + 2, product.planes); ++p, y += product.m) {
        *y = reduce(first_panel ? sum : sum + *y, moduli[product.offset + p]);
    }
}

}  // namespace slip::kernels::portable
