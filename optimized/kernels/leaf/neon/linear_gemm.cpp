// Y = W X mod L (LIN-1, MASK-3) from packed weights. The planes of X become signed bytes on the
// stack, four of them at a time, then every panel of W meets them; each output is reduced once per
// block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/neon/layout.hpp"
#include "optimized/kernels/leaf/neon/linear_panel.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {
namespace {

/// Columns of W whose residues lie on the stack at a time. 32 bits hold 127 * 125 * 135,274 < 2^31.
constexpr std::size_t block_width = 8192;
static_assert(std::int64_t{base::parameters::largest_weight} * 125 * std::int64_t{block_width} <
              std::int64_t{1} << 31);

/// The weights of a product. The planes of all columns of X are numbered; the primes of a column's
/// planes begin with that of number `offset`.
struct Product {
    const std::int8_t* packed;
    std::size_t m, n, planes, offset;

    const Modulus& modulus(std::size_t plane) const { return moduli[offset + plane % planes]; }
};

/// Y += the part of W X that columns j to j + width - 1 of W give, for `count` <= 4 planes from
/// number `first` on, of which `lifted` are the lifts; sets Y if j = 0.
[[gnu::noinline]] void multiply_block(const Product& product, std::size_t first, std::size_t count,
                                      std::size_t j, std::size_t width, const std::int8_t* lifted,
                                      std::uint8_t* y) {
    const std::size_t panel_bytes = steps_of(product.n) * step_bytes;
    std::int32_t sums[4 * panel_rows];
    for (std::size_t row = 0; row < product.m; row += panel_rows) {
        multiply_panel(
            product.packed + row / panel_rows * panel_bytes + j / step_columns * step_bytes, lifted,
            steps_of(width), sums);
        for (std::size_t l = 0; l < count; ++l) {
            finish(sums + l * panel_rows, least(panel_rows, product.m - row), j == 0,
                   product.modulus(first + l), y + l * product.m + row);
        }
    }
    base::wipe(sums, sizeof sums);  // of a mask (MASK-6)
}

/// `count` <= 4 planes of Y, from number `first` on; x and y: the first of them.
[[gnu::noinline]] void multiply_planes(const Product& product, std::size_t first, std::size_t count,
                                       const std::uint8_t* x, std::uint8_t* y) {
    std::int8_t lifted[block_width * 4];
    std::size_t j = 0;
    do {  // once if W has no columns
        const std::uint8_t* of_x[4];
        const Modulus* of_planes[4];
        for (std::size_t l = 0; l < 4; ++l) {
            // Of fewer planes, the last is multiplied more than once.
            const std::size_t own = least(l, count - 1);
            of_x[l] = x + own * product.n + j;
            of_planes[l] = &product.modulus(first + own);
        }
        const std::size_t width = least(block_width, product.n - j);
        lift_planes(of_x, of_planes, width, lifted);
        multiply_block(product, first, count, j, width, lifted, y);
        j += block_width;
    } while (j < product.n);
    // The column may be a mask (MASK-3), which leaves no trace (MASK-6).
    base::wipe(lifted, sizeof lifted);
}

/// b columns, four planes at a time.
[[gnu::always_inline]] inline void multiply(const Product& product, const std::uint8_t* x,
                                            std::size_t b, std::uint8_t* y) {
    const std::size_t planes = b * product.planes;
    for (std::size_t v = 0; v < planes; v += 4) {
        multiply_planes(product, v, least(4, planes - v), x + v * product.n, y + v * product.m);
    }
}

}  // namespace

void gemm(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
          std::size_t b, std::size_t planes, std::uint8_t* y) {
    multiply({raw(packed), m, n, planes, 0}, x, b, y);
}

void gemm_plane(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                std::size_t b, std::size_t plane, std::uint8_t* y) {
    multiply({raw(packed), m, n, 1, plane}, x, b, y);
}

}  // namespace slip::kernels::neon
