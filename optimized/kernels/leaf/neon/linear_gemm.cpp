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

/// signed_x = [step][4 planes][4], with zeros up to four planes and to a whole step: elements of
/// `count` planes that are n apart, plane v modulo the prime of number[v].
void lift_planes(const std::uint8_t* x, std::size_t n, std::size_t width, std::size_t count,
                 const std::size_t (&number)[4], std::int8_t* signed_x) {
    for (std::size_t v = 0; v < 4; ++v) {
        const std::uint32_t prime = moduli[number[v]].prime;
        for (std::size_t j = 0; j < steps_of(width) * step_columns; ++j) {
            const std::int32_t element =
                v < count && j < width ? lift(x[v * n + j], prime) : std::int32_t{0};
            signed_x[(j / 4 * 4 + v) * 4 + j % 4] = static_cast<std::int8_t>(element);
        }
    }
}

/// Up to four planes of Y, plane v modulo the prime of number[v].
void multiply_planes(const std::int8_t* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                     std::size_t count, const std::size_t (&number)[4], std::uint8_t* y) {
    std::int8_t signed_x[block_width * 4];
    std::int32_t sums[panel_rows * 4];
    for (std::size_t j = 0; j == 0 || j < n; j += block_width) {
        const std::size_t width = least(block_width, n - j);
        lift_planes(x + j, n, width, count, number, signed_x);
        for (std::size_t row = 0; row < m; row += panel_rows) {
            const std::size_t step = row / panel_rows * steps_of(n) + j / step_columns;
            multiply_panel(packed + step * step_bytes, signed_x, steps_of(width), sums);
            for (std::size_t v = 0; v < count; ++v) {
                std::uint8_t* const out = y + v * m + row;
                for (std::size_t i = 0; i < least(panel_rows, m - row); ++i) {
                    const std::int64_t before = j == 0 ? std::uint8_t{0} : out[i];
                    out[i] = reduce(before + sums[v * panel_rows + i], moduli[number[v]]);
                }
            }
        }
    }
    // The column may be a mask (MASK-3), which leaves no trace (MASK-6).
    base::wipe(signed_x, sizeof signed_x);
    base::wipe(sums, sizeof sums);
}

/// b columns, whose planes have the primes from number `offset` on.
void multiply(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
              std::size_t b, std::size_t planes, std::size_t offset, std::uint8_t* y) {
    for (std::size_t v = 0; v < b * planes; v += 4) {
        const std::size_t number[4]{offset + v % planes, offset + (v + 1) % planes,
                                    offset + (v + 2) % planes, offset + (v + 3) % planes};
        multiply_planes(raw(packed), m, n, x + v * n, least(4, b * planes - v), number, y + v * m);
    }
}

}  // namespace

void gemm(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
          std::size_t b, std::size_t planes, std::uint8_t* y) {
    multiply(packed, m, n, x, b, planes, 0, y);
}

void gemm_plane(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint8_t* x,
                std::size_t b, std::size_t plane, std::uint8_t* y) {
    multiply(packed, m, n, x, b, 1, plane, y);
}

}  // namespace slip::kernels::neon
