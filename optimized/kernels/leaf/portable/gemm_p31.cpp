#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/portable/limbs.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"

// Y = W X mod p (LIN-1, MASK-3): two dot products of 16-bit numbers an output, reduced once.
namespace slip::kernels::portable {
namespace {

/// Columns of W whose limbs lie on the stack at a time, 64 KiB for two columns of X; longer rows
/// take several panels.
constexpr std::size_t panel = 8192;
static_assert(panel % pass == 0);

/// The limbs of C columns of X, at most `panel` long.
template <std::size_t C>
struct Panel {
    alignas(64) std::int16_t low[C][panel];
    alignas(64) std::int16_t high[C][panel];
};

/// sums[r][c] += sum_j w[r][j] x[c][first + j], over R rows of W that are `stride` apart and C
/// columns of X. Requires n <= pass, so that the 32-bit sums are exact.
template <std::size_t R, std::size_t C>
void add_products(const std::int8_t* w, std::size_t stride, const Panel<C>& x, std::size_t first,
                  std::size_t n, std::int64_t (&sums)[R][C]) {
    std::int32_t low[R][C] = {};
    std::int32_t high[R][C] = {};
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < R; ++r) {
            const std::int16_t weight = w[r * stride + j];
            for (std::size_t c = 0; c < C; ++c) {
                low[r][c] += weight * x.low[c][first + j];
                high[r][c] += weight * x.high[c][first + j];
            }
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) sums[r][c] += recombine(low[r][c], high[r][c]);
    }
}

/// R rows and C columns of Y from one panel of width n. The first panel sets them, later ones add.
template <std::size_t R, std::size_t C>
void multiply_rows(const std::int8_t* w, std::size_t stride, const Panel<C>& x, std::size_t n,
                   bool first_panel, std::size_t m, std::uint32_t* y) {
    std::int64_t sums[R][C] = {};
    for (std::size_t j = 0; j < n; j += pass) {
        add_products<R, C>(w + j, stride, x, j, std::min(pass, n - j), sums);
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) {
            std::uint32_t& output = y[c * m + r];
            output = embed_p31(first_panel ? sums[r][c] : sums[r][c] + output);
        }
    }
}

/// C columns of Y, R rows at a time.
template <std::size_t R, std::size_t C>
void multiply_columns(const std::int8_t* w, std::size_t m, std::size_t n, const std::uint32_t* x,
                      std::uint32_t* y) {
    Panel<C> limbs;
    for (std::size_t first = 0; first == 0 || first < n; first += panel) {
        const std::size_t width = std::min(panel, n - first);
        for (std::size_t c = 0; c < C; ++c) {
            for (std::size_t j = 0; j < width; ++j) {
                const Limbs residue = split_p31(x[c * n + first + j]);
                limbs.low[c][j] = residue.low;
                limbs.high[c][j] = residue.high;
            }
        }
        std::size_t i = 0;
        for (; i + R <= m; i += R) {
            multiply_rows<R, C>(w + i * n + first, n, limbs, width, first == 0, m, y + i);
        }
        for (; i < m; ++i) {
            multiply_rows<1, C>(w + i * n + first, n, limbs, width, first == 0, m, y + i);
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    for (std::size_t c = 0; c < C; ++c) {
        wipe(limbs.low[c], std::min(panel, n) * sizeof(std::int16_t));
        wipe(limbs.high[c], std::min(panel, n) * sizeof(std::int16_t));
    }
}

}  // namespace

// Two rows and two columns share their operands; a last column is shared by four rows.
void gemm_p31(const std::int8_t* w, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    std::size_t c = 0;
    for (; c + 2 <= b; c += 2) multiply_columns<2, 2>(w, m, n, x + c * n, y + c * m);
    if (c < b) multiply_columns<4, 1>(w, m, n, x + c * n, y + c * m);
}

}  // namespace slip::kernels::portable
