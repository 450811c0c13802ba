// Y = W X mod p (LIN-1, MASK-3) from packed weights. A column of X becomes digits on the stack,
// then every panel of W meets them; each output is recombined and reduced once per block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/neon/layout.hpp"
#include "optimized/kernels/leaf/neon/linear_panel.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {
namespace {

/// Columns of W whose digits lie on the stack at a time. 32 bits hold 128 * 128 * 131,071 < 2^31.
constexpr std::size_t block_width = 8192;
static_assert(std::int64_t{128} * 128 * std::int64_t{block_width} < std::int64_t{1} << 31);

/// of[step][digit][4] of `width` residues, with zeros up to a whole step.
template <class P>
void split(const typename P::Residue* x, std::size_t width, std::int8_t* of) {
    for (std::size_t j = 0; j < steps_of(width) * step_columns; ++j) {
        auto v = lift(j < width ? x[j] : 0);
        std::int8_t* const place = of + j / 4 * 4 * digits<P> + j % 4;
        for (std::size_t l = 0; l < digits<P>; ++l) {
            const auto digit = static_cast<std::int8_t>(v);  // v mod 2^8, centred
            place[4 * l] = digit;
            v = (v - digit) >> 8;
        }
    }
}

/// One column of Y, a block of columns of W after the other.
template <class P>
void multiply_column(const std::int8_t* packed, std::size_t m, std::size_t n,
                     const typename P::Residue* x, typename P::Residue* y) {
    std::int8_t of_digits[block_width * digits<P>];
    std::int32_t sums[panel_rows * digits<P>];
    for (std::size_t j = 0; j == 0 || j < n; j += block_width) {
        const std::size_t width = least(block_width, n - j);
        split<P>(x + j, width, of_digits);
        for (std::size_t panel = 0; panel < panels_of(m); ++panel) {
            const std::size_t first_step = panel * steps_of(n) + j / step_columns;
            multiply_panel(packed + first_step * step_bytes, of_digits, steps_of(width), sums);
            for (std::size_t i = panel * panel_rows; i < least(m, (panel + 1) * panel_rows); ++i) {
                y[i] = recombine(sums + i % panel_rows, panel_rows, j == 0 ? 0 : y[i]);
            }
        }
    }
    // The column may be a mask (MASK-3), which leaves no trace (MASK-6).
    base::wipe(of_digits, sizeof of_digits);
    base::wipe(sums, sizeof sums);
}

}  // namespace

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    for (std::size_t c = 0; c < b; ++c)
        multiply_column<P31>(raw(packed), m, n, x + c * n, y + c * m);
}

}  // namespace slip::kernels::neon
