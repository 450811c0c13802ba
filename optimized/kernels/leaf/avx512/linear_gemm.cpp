// Y = W X mod p (LIN-1, MASK-3) from packed weights. The columns of X become digits on the stack,
// then every panel of W meets them once; each output is recombined and reduced once per block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/linear_panel.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Bytes of digits on the stack.
constexpr std::size_t capacity = std::size_t{256} * 1024;
/// Columns of W at a time when there are several columns of X: a panel that wide, 256 KiB, the next
/// one and the digits share the second-level cache.
constexpr std::size_t block_width = 4096;
/// A single column asks for W this far ahead: the processor's own prefetchers stop at the end of a
/// page.
constexpr std::size_t ahead_of_one = 7168;
static_assert(block_width <= max_products && capacity / 4 <= max_products);

/// digits = [steps][4 digits][4] of one column, in whole registers.
void split(const std::uint32_t* x, std::size_t n, std::uint8_t* digits) {
    for (std::size_t j = 0; j < n; j += 16, digits += 64) {
        const __m512i residues = _mm512_maskz_loadu_epi32(first_16(n - j), x + j);
        _mm512_storeu_si512(digits, transpose_4x4(residues));
    }
}

/// (x AND p) + (x >> 31), RING-4.
__m512i fold_p31(__m512i x) {
    return _mm512_add_epi64(_mm512_and_si512(x, _mm512_set1_epi64(P31::p)),
                            _mm512_srli_epi64(x, 31));
}

/// 8 outputs: sum_l 2^(8 l) sums[l] mod p, plus `before`. |sums| <= 2^31, so the sum is below
/// 2^31 (1 + 2^8 + 2^16 + 2^24) < 2^56 in absolute value; p 2^26 > 2^56 makes it non-negative and
/// with a residue added it stays below 2^58. One fold leaves less than 2^31 + 2^27, a second at
/// most p + 1.
__m256i recombine_p31(const std::int32_t* sums, __m256i before) {
    const auto sum = [&](std::size_t l) {
        return _mm512_cvtepi32_epi64(_mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(sums + l * Layout<P31>::panel_rows)));
    };
    const __m512i low = _mm512_add_epi64(sum(0), _mm512_slli_epi64(sum(1), 8));
    const __m512i high = _mm512_add_epi64(sum(2), _mm512_slli_epi64(sum(3), 8));
    const __m512i offset = _mm512_add_epi64(_mm512_set1_epi64(std::int64_t{P31::p} << 26),
                                            _mm512_cvtepu32_epi64(before));
    const __m512i total =
        _mm512_add_epi64(_mm512_add_epi64(low, _mm512_slli_epi64(high, 16)), offset);
    const __m256i folded = _mm512_cvtepi64_epi32(fold_p31(fold_p31(total)));
    // x - p wraps to a greater number if x < p.
    return _mm256_min_epu32(folded, _mm256_sub_epi32(folded, _mm256_set1_epi32(P31::p)));
}

/// One column of `rows` outputs from a panel's sums; the first block sets them, later ones add.
void finish(const std::int32_t* sums, std::size_t rows, bool first_block, std::uint32_t* y) {
    for (std::size_t r = 0; r < rows; r += 8) {
        const __mmask8 lanes = first_8(rows - r);
        const __m256i before =
            first_block ? _mm256_setzero_si256() : _mm256_maskz_loadu_epi32(lanes, y + r);
        _mm256_mask_storeu_epi32(y + r, lanes, recombine_p31(sums + r, before));
    }
}

/// The part of a product that is done at a time: columns j to j + width - 1 of W.
struct Block {
    const std::int8_t* packed;
    std::size_t m, n, j, width;
};

/// Y += the block's part of W X for `columns` columns of X; sets Y if j = 0. Each column asks for
/// its share of the next panel, which so arrives from memory while this one is multiplied.
template <class P>
void multiply_block(const Block& block, const typename P::Residue* x, std::size_t columns,
                    std::uint8_t* digits, typename P::Residue* y) {
    using L = Layout<P>;
    // split() writes whole registers, which are whole steps.
    const std::size_t column_bytes = (block.width * L::digits + 63) / 64 * 64;
    const std::size_t steps = steps_of(block.width);
    const std::size_t panel_bytes = steps_of(block.n) * L::step_bytes;
    const std::size_t stride = (L::step_bytes + columns - 1) / columns;
    for (std::size_t c = 0; c < columns; ++c) {
        split(x + c * block.n + block.j, block.width, digits + c * column_bytes);
    }
    alignas(64) std::int32_t sums[L::digits * L::panel_rows];
    for (std::size_t panel = 0; panel < L::panels_of(block.m); ++panel) {
        const std::size_t row = panel * L::panel_rows;
        const std::int8_t* const w =
            block.packed + panel * panel_bytes + block.j / step_columns * L::step_bytes;
        const std::int8_t* const ahead = w + (columns == 1 ? ahead_of_one : panel_bytes);
        for (std::size_t c = 0; c < columns; ++c) {
            multiply_panel_p31(w, digits + c * column_bytes, steps, sums,
                               {ahead + c * steps * stride, stride});
            finish(sums, least(L::panel_rows, block.m - row), block.j == 0, y + c * block.m + row);
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    base::wipe(digits, columns * column_bytes);
    base::wipe(sums, sizeof sums);
}

/// A single column is as wide as the stack allows; several columns share narrower panels, and all
/// passes over W have about as many columns.
template <class P>
void gemm(const std::int8_t* packed, std::size_t m, std::size_t n, const typename P::Residue* x,
          std::size_t b, typename P::Residue* y) {
    constexpr std::size_t wide = capacity / Layout<P>::digits;
    alignas(64) std::uint8_t digits[capacity];
    const std::size_t width = b == 1 ? wide : block_width;
    const std::size_t most = wide / width;
    for (std::size_t c = 0, columns; c < b; c += columns) {
        const std::size_t passes = (b - c + most - 1) / most;
        columns = (b - c + passes - 1) / passes;
        for (std::size_t j = 0; j == 0 || j < n; j += width) {
            multiply_block<P>({packed, m, n, j, least(width, n - j)}, x + c * n, columns, digits,
                              y + c * m);
        }
    }
}

}  // namespace

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    gemm<P31>(raw(packed), m, n, x, b, y);
}

}  // namespace slip::kernels::avx512
