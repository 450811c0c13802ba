// Y = W X mod p (LIN-1, MASK-3) from packed weights. The columns of X become limbs on the stack,
// then every panel of W meets them; each output is recombined and reduced once per block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/avx2/linear_panel.hpp"
#include "optimized/kernels/leaf/limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// Bytes of limbs on the stack.
constexpr std::size_t capacity = std::size_t{256} * 1024;
/// Columns of W at a time when there are several columns of X: a panel that wide, 32 KiB, stays in
/// the first-level cache.
constexpr std::size_t block_width = 2048;

/// One pass over a panel multiplies 2 or 4 vectors of limbs: those of 1 or 2 columns of X.
constexpr std::size_t pass_columns(std::size_t columns) { return columns >= 2 ? 2 : 1; }

/// limbs = [steps][C columns][limbs][2].
template <class P>
void split_columns(const typename P::Residue* x, std::size_t stride, std::size_t columns,
                   std::size_t n, std::int16_t* limbs) {
    for (std::size_t j = 0; j < n; j += 2) {
        for (std::size_t c = 0; c < columns; ++c) {
            const Limbs<P> first = split<P>(x[c * stride + j]);
            const Limbs<P> second = split<P>(j + 1 < n ? x[c * stride + j + 1] : 0);
            for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
                *limbs++ = first.limb[l];
                *limbs++ = second.limb[l];
            }
        }
    }
}

/// sums[l][r] over `steps` steps, any number of them.
template <std::size_t Vectors>
void multiply_panel(const std::int8_t* w, const std::int16_t* limbs, std::size_t steps,
                    std::int64_t (&sums)[Vectors][panel_rows]) {
    constexpr std::size_t most = limb_pass / step_columns;
    std::int32_t partial[Vectors][panel_rows];
    __builtin_memset(sums, 0, sizeof sums);
    for (; steps > 0; w += most * step_bytes, limbs += most * Vectors * step_columns) {
        const std::size_t count = least(most, steps);
        if constexpr (Vectors == 4) {
            multiply_panel_by_4(w, limbs, count, partial[0]);
        } else {
            multiply_panel_by_2(w, limbs, count, partial[0]);
        }
        for (std::size_t l = 0; l < Vectors; ++l) {
            for (std::size_t r = 0; r < panel_rows; ++r) sums[l][r] += partial[l][r];
        }
        steps -= count;
    }
    base::wipe(partial, sizeof partial);  // MASK-6
}

/// `rows` outputs of each of the columns that a pass took. The first block sets them, later ones
/// add.
template <class P, std::size_t Vectors>
void finish(const std::int64_t (&sums)[Vectors][panel_rows], std::size_t rows, bool first_block,
            std::size_t m, typename P::Residue* y) {
    constexpr std::size_t limbs = Limbs<P>::count;
    for (std::size_t c = 0; c < Vectors / limbs; ++c) {
        for (std::size_t r = 0; r < rows; ++r) {
            std::int64_t of_limbs[limbs];
            for (std::size_t l = 0; l < limbs; ++l) of_limbs[l] = sums[c * limbs + l][r];
            auto& output = y[c * m + r];
            output = recombine(of_limbs, first_block ? 0 : output);
        }
    }
}

/// The part of a product that is done at a time: columns j to j + width - 1 of W.
struct Block {
    const std::int8_t* packed;
    std::size_t m, n, j, width;
};

/// Y for one panel of one block and the columns of one pass, whose limbs are `Vectors` vectors.
template <class P, std::size_t Vectors>
void multiply_pass(const Block& block, std::size_t panel, const std::int16_t* limbs,
                   typename P::Residue* y) {
    const std::size_t row = panel * panel_rows;
    const std::size_t first_step = panel * steps_of(block.n) + block.j / step_columns;
    std::int64_t sums[Vectors][panel_rows];
    multiply_panel(block.packed + first_step * step_bytes, limbs, steps_of(block.width), sums);
    finish<P>(sums, least(panel_rows, block.m - row), block.j == 0, block.m, y + row);
    base::wipe(sums, sizeof sums);
}

/// Y += the block's part of W X for `columns` columns of X; sets Y if j = 0.
template <class P>
void multiply_block(const Block& block, const typename P::Residue* x, std::size_t columns,
                    std::int16_t* limbs, typename P::Residue* y) {
    const std::size_t column_limbs = steps_of(block.width) * step_columns * Limbs<P>::count;
    for (std::size_t c = 0; c < columns; c += pass_columns(columns - c)) {
        split_columns<P>(x + c * block.n + block.j, block.n, pass_columns(columns - c), block.width,
                         limbs + c * column_limbs);
    }
    for (std::size_t panel = 0; panel < panels_of(block.m); ++panel) {
        for (std::size_t c = 0; c < columns; c += pass_columns(columns - c)) {
            const std::int16_t* const at = limbs + c * column_limbs;
            if (pass_columns(columns - c) == 2) {
                multiply_pass<P, 4>(block, panel, at, y + c * block.m);
            } else {
                multiply_pass<P, 2>(block, panel, at, y + c * block.m);
            }
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    base::wipe(limbs, columns * column_limbs * sizeof(std::int16_t));
}

/// A single column is as wide as the stack allows; several columns share narrower panels.
template <class P>
void gemm(const std::int8_t* packed, std::size_t m, std::size_t n, const typename P::Residue* x,
          std::size_t b, typename P::Residue* y) {
    constexpr std::size_t wide = capacity / sizeof(typename P::Residue);
    alignas(64) std::int16_t limbs[capacity / sizeof(std::int16_t)];
    const std::size_t width = b == 1 ? wide : block_width;
    const std::size_t columns = wide / width;
    for (std::size_t c = 0; c < b; c += columns) {
        for (std::size_t j = 0; j == 0 || j < n; j += width) {
            multiply_block<P>({packed, m, n, j, least(width, n - j)}, x + c * n,
                              least(columns, b - c), limbs, y + c * m);
        }
    }
}

}  // namespace

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    gemm<P31>(raw(packed), m, n, x, b, y);
}

}  // namespace slip::kernels::avx2
