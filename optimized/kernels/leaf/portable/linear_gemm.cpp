// Y = W X mod p (LIN-1, MASK-3): a dot product of 16-bit numbers an output and limb, reduced once.
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// Columns of W whose limbs lie on the stack at a time, 64 KiB; longer rows take several panels.
template <class P>
constexpr std::size_t panel = 16384 / Limbs<P>::count;
static_assert(panel<P31> % limb_pass == 0);

/// The limbs of C columns of X, at most `panel` long.
template <class P, std::size_t C>
struct Panel {
    alignas(64) std::int16_t limbs[C][Limbs<P>::count][panel<P>];
};

/// For R rows and C columns of Y, the sums over each limb.
template <class P, std::size_t R, std::size_t C>
struct Sums {
    std::int64_t of[R][C][Limbs<P>::count];
};

/// Adds w[r][j] x[c][first + j], summed over j < n, for R rows of W that are `stride` apart and the
/// limbs l and l + 1. Requires n <= limb_pass, so that the 32-bit sums are exact.
template <class P, std::size_t R, std::size_t C>
void add_products(const std::int8_t* w, std::size_t stride, const Panel<P, C>& x, std::size_t first,
                  std::size_t n, std::size_t l, Sums<P, R, C>& sums) {
    std::int32_t low[R][C] = {};
    std::int32_t high[R][C] = {};
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t r = 0; r < R; ++r) {
            const std::int16_t weight = w[r * stride + j];
            for (std::size_t c = 0; c < C; ++c) {
                low[r][c] += weight * x.limbs[c][l][first + j];
                high[r][c] += weight * x.limbs[c][l + 1][first + j];
            }
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) {
            sums.of[r][c][l] += low[r][c];
            sums.of[r][c][l + 1] += high[r][c];
        }
    }
}

/// R rows and C columns of Y from one panel of width n. The first panel sets them, later ones add.
template <class P, std::size_t R, std::size_t C>
void multiply_rows(const std::int8_t* w, std::size_t stride, const Panel<P, C>& x, std::size_t n,
                   bool first_panel, std::size_t m, typename P::Residue* y) {
    Sums<P, R, C> sums{};
    for (std::size_t j = 0; j < n; j += limb_pass) {
        for (std::size_t l = 0; l < Limbs<P>::count; l += 2) {
            add_products<P, R, C>(w + j, stride, x, j, std::min(limb_pass, n - j), l, sums);
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        for (std::size_t c = 0; c < C; ++c) {
            auto& output = y[c * m + r];
            output = recombine(sums.of[r][c], first_panel ? 0 : output);
        }
    }
}

/// C columns of Y, R rows at a time.
template <class P, std::size_t R, std::size_t C>
void multiply_columns(const std::int8_t* w, std::size_t m, std::size_t n,
                      const typename P::Residue* x, typename P::Residue* y) {
    Panel<P, C> columns;
    for (std::size_t first = 0; first == 0 || first < n; first += panel<P>) {
        const std::size_t width = std::min(panel<P>, n - first);
        for (std::size_t c = 0; c < C; ++c) {
            for (std::size_t j = 0; j < width; ++j) {
                const Limbs<P> residue = split<P>(x[c * n + first + j]);
                for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
                    columns.limbs[c][l][j] = residue.limb[l];
                }
            }
        }
        std::size_t i = 0;
        for (; i + R <= m; i += R) {
            multiply_rows<P, R, C>(w + i * n + first, n, columns, width, first == 0, m, y + i);
        }
        for (; i < m; ++i) {
            multiply_rows<P, 1, C>(w + i * n + first, n, columns, width, first == 0, m, y + i);
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    for (auto& column : columns.limbs) {
        for (auto& limbs : column) base::wipe(limbs, std::min(panel<P>, n) * sizeof(std::int16_t));
    }
}

// Two rows and two columns share their operands; a last column is shared by four rows.
template <class P>
void gemm(const std::int8_t* w, std::size_t m, std::size_t n, const typename P::Residue* x,
          std::size_t b, typename P::Residue* y) {
    std::size_t c = 0;
    for (; c + 2 <= b; c += 2) multiply_columns<P, 2, 2>(w, m, n, x + c * n, y + c * m);
    if (c < b) multiply_columns<P, 4, 1>(w, m, n, x + c * n, y + c * m);
}

}  // namespace

void gemm_p31(const PackedWeights* w, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    gemm<P31>(raw(w), m, n, x, b, y);
}

}  // namespace slip::kernels::portable
