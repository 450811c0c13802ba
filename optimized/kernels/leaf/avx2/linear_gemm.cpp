// Y = W X mod L (LIN-1, MASK-3) from packed weights: two planes of a column are a vector of 16-bit
// numbers (plane_pairs.hpp) on the stack, then every panel of W meets the vectors; each output is
// reduced once per block.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/avx2/linear_panel.hpp"
#include "optimized/kernels/leaf/plane_pairs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// Elements of vectors on the stack: 256 KiB.
constexpr std::size_t capacity = std::size_t{128} * 1024;
/// Columns of W at a time when there are several columns of X: a panel that wide, 32 KiB, stays in
/// the first-level cache.
constexpr std::size_t block_width = 2048;
/// Columns of W at a time for a single column of X, with all pairs of planes.
constexpr std::size_t wide = capacity / 4;

/// The part of a product that is done at a time: columns j to j + width - 1 of W. The primes of a
/// column's planes begin with that of number `offset`. From one vector on the stack to the next
/// there are `stride` elements, whole registers.
struct Block {
    const std::int8_t* packed;
    std::size_t m, n, planes, offset, j, width, stride;
    const std::uint8_t* x;
    std::uint8_t* y;

    /// Vector v has pair v mod pairs() of column v / pairs().
    std::size_t pairs() const { return pairs_of_planes(planes); }
    std::size_t first_plane(std::size_t vector) const { return vector % pairs() * 2; }
    bool is_single(std::size_t vector) const { return first_plane(vector) + 1 == planes; }
    /// The planes of all columns are numbered: the number of a vector's first one.
    std::size_t at(std::size_t vector) const {
        return vector / pairs() * planes + first_plane(vector);
    }
};

/// 16 elements; what is behind the last of them is zero.
[[gnu::always_inline]] inline __m256i load_16(const std::uint8_t* x, std::size_t count) {
    if (count >= 16) {
        return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
    }
    std::uint8_t bytes[16] = {};
    for (std::size_t j = 0; j < count; ++j) bytes[j] = x[j];
    const __m256i elements =
        _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    base::wipe(bytes, sizeof bytes);
    return elements;
}

/// join() of 16 elements. Of numbers that differ by multiples of the prime, the least that did not
/// wrap is the residue.
[[gnu::always_inline]] inline __m256i join_16(__m256i first, __m256i second, std::size_t q) {
    const PlanePair pair = plane_pairs[q];
    const __m256i prime = in_16_lanes(pair.second);
    const __m256i difference = _mm256_sub_epi16(second, first);
    const __m256i once = _mm256_add_epi16(difference, prime);
    const __m256i twice = _mm256_add_epi16(once, prime);
    const __m256i least = _mm256_min_epu16(_mm256_min_epu16(difference, once), twice);
    const __m256i times =
        reduce_16(_mm256_mullo_epi16(least, in_16_lanes(pair.inverse)), moduli[2 * q + 1]);
    const __m256i joined =
        _mm256_add_epi16(first, _mm256_mullo_epi16(times, in_16_lanes(pair.first)));
    // Above (product - 1) / 2, joined - product is the lift; a saturated difference is zero below.
    const __m256i below = _mm256_cmpeq_epi16(
        _mm256_subs_epu16(joined, in_16_lanes((pair.product - 1) / 2)), _mm256_setzero_si256());
    return _mm256_sub_epi16(joined, _mm256_andnot_si256(below, in_16_lanes(pair.product)));
}

/// The numbers of a vector whose plane has no second one: `width` residues; what is behind the last
/// of them in a register is zero.
[[gnu::noinline]] void widen_plane(const std::uint8_t* x, std::size_t width, std::int16_t* joined) {
    for (std::size_t j = 0; j < width; j += 16) store(joined + j, load_16(x + j, width - j));
}

/// The same of a vector that has both planes of pair q.
[[gnu::noinline]] void join_pair(const std::uint8_t* first, const std::uint8_t* second,
                                 std::size_t width, std::size_t q, std::int16_t* joined) {
    for (std::size_t j = 0; j < width; j += 16) {
        store(joined + j,
              join_16(load_16(first + j, width - j), load_16(second + j, width - j), q));
    }
}

/// The block's part of a vector.
[[gnu::noinline]] void join_planes(const Block& block, std::size_t vector, std::int16_t* joined) {
    const std::uint8_t* const first = block.x + block.at(vector) * block.n + block.j;
    if (block.is_single(vector)) {
        widen_plane(first, block.width, joined);
    } else {
        join_pair(first, first + block.n, block.width, vector % block.pairs(), joined);
    }
}

/// The micro-kernel of `vectors` vectors.
template <std::size_t vectors>
constexpr auto multiply_panel_by = vectors == 1   ? multiply_panel_by_1
                                   : vectors == 2 ? multiply_panel_by_2
                                   : vectors == 3 ? multiply_panel_by_3
                                                  : multiply_panel_by_4;

/// sums[v][r] over `steps` steps, any number of them.
template <std::size_t vectors>
[[gnu::always_inline]] inline void multiply_panel(const std::int8_t* w, const std::int16_t* x,
                                                  std::size_t stride, std::size_t steps,
                                                  std::int64_t* sums) {
    constexpr std::size_t most = pair_pass / step_columns;
    std::int32_t partial[vectors * panel_rows];
    __builtin_memset(sums, 0, vectors * panel_rows * sizeof *sums);
    for (; steps > 0; w += most * step_bytes, x += most * step_columns) {
        const std::size_t count = least(most, steps);
        multiply_panel_by<vectors>(w, x, stride, count, partial);
        for (std::size_t i = 0; i < vectors * panel_rows; ++i) sums[i] += partial[i];
        steps -= count;
    }
    base::wipe(partial, sizeof partial);  // MASK-6
}

/// reduce() of 4 sums.
[[gnu::always_inline]] inline __m256i reduce_4(__m256i sums, const Modulus& m) {
    const __m256i u = _mm256_add_epi64(sums, _mm256_set1_epi64x(m.offset));
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(u, 24), _mm256_set1_epi64x(m.power));
    const __m256i folded =
        _mm256_add_epi64(high, _mm256_and_si256(u, _mm256_set1_epi64x(0xffffff)));
    const __m256i quotient =
        _mm256_srli_epi64(_mm256_mul_epu32(folded, _mm256_set1_epi64x(m.reciprocal)), 39);
    return _mm256_sub_epi64(folded, _mm256_mul_epu32(quotient, _mm256_set1_epi64x(m.prime)));
}

/// Copies `rows` < 2 * bit bytes, those of each bit of the number at once.
template <std::size_t bit>
[[gnu::always_inline]] inline void copy_bits(const std::uint8_t* from, std::size_t rows,
                                             std::uint8_t* to) {
    const std::size_t size = rows & bit;
    if (size != 0) __builtin_memcpy(to, from, bit);
    if constexpr (bit > 1) copy_bits<bit / 2>(from + size, rows, to + size);
}

/// Copies `rows` <= panel_rows bytes.
[[gnu::always_inline]] inline void copy_rows(const std::uint8_t* from, std::size_t rows,
                                             std::uint8_t* to) {
    if (rows == panel_rows) {
        __builtin_memcpy(to, from, panel_rows);
    } else {
        copy_bits<panel_rows / 2>(from, rows, to);
    }
}

/// `rows` elements of a plane of Y from a panel's sums, added to what the blocks before column j
/// left.
[[gnu::noinline]] void finish_plane(const std::int64_t* sums, std::size_t rows, std::size_t j,
                                    const Modulus& m, std::uint8_t* y) {
    std::uint8_t bytes[panel_rows] = {};
    if (j > 0) copy_rows(y, rows, bytes);
    for (std::size_t r = 0; r < panel_rows; r += 4) {
        std::int32_t four;
        __builtin_memcpy(&four, bytes + r, sizeof four);
        const __m256i before = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
        const __m256i reduced = reduce_4(_mm256_add_epi64(load(sums + r), before), m);
        // Byte 0 of every lane.
        const __m256i two = _mm256_shuffle_epi8(reduced, _mm256_set1_epi64x(0x0800));
        four = _mm_cvtsi128_si32(
            _mm_unpacklo_epi16(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1)));
        __builtin_memcpy(bytes + r, &four, sizeof four);
    }
    copy_rows(bytes, rows, y);
    base::wipe(bytes, sizeof bytes);
}

/// Y for one panel of one block and some vectors.
template <std::size_t vectors>
[[gnu::noinline]] void multiply_pass(const Block& block, std::size_t panel, std::size_t vector,
                                     const std::int16_t* joined) {
    const std::size_t row = panel * panel_rows;
    const std::size_t first_step = panel * steps_of(block.n) + block.j / step_columns;
    std::int64_t sums[vectors * panel_rows];
    multiply_panel<vectors>(block.packed + first_step * step_bytes, joined, block.stride,
                            steps_of(block.width), sums);
    for (std::size_t v = 0; v < vectors; ++v) {
        const std::size_t plane = block.offset + block.first_plane(vector + v);
        const bool is_single = block.is_single(vector + v);
        std::uint8_t* const y = block.y + block.at(vector + v) * block.m + row;
        const std::size_t rows = least(panel_rows, block.m - row);
        finish_plane(sums + v * panel_rows, rows, block.j, moduli[plane], y);
        if (!is_single) {
            finish_plane(sums + v * panel_rows, rows, block.j, moduli[plane + 1], y + block.m);
        }
    }
    base::wipe(sums, sizeof sums);
}

/// Y += the block's part of W X for `count` vectors from `first` on; sets Y if j = 0.
[[gnu::noinline]] void multiply_block(const Block& block, std::size_t first, std::size_t count,
                                      std::int16_t* joined) {
    for (std::size_t v = 0; v < count; ++v) {
        join_planes(block, first + v, joined + v * block.stride);
    }
    for (std::size_t panel = 0; panel < panels_of(block.m); ++panel) {
        for (std::size_t v = 0; v < count; v += 4) {
            const std::int16_t* const own = joined + v * block.stride;
            if (count - v == 1) {
                multiply_pass<1>(block, panel, first + v, own);
            } else if (count - v == 2) {
                multiply_pass<2>(block, panel, first + v, own);
            } else if (count - v == 3) {
                multiply_pass<3>(block, panel, first + v, own);
            } else {
                multiply_pass<4>(block, panel, first + v, own);
            }
        }
    }
    // The columns may be masks (MASK-3), which leave no trace (MASK-6).
    base::wipe(joined, count * block.stride * sizeof *joined);
}

/// b columns. A single one is as wide as the stack allows; several share narrower panels.
[[gnu::always_inline]] inline void multiply(const PackedWeights* packed, std::size_t m,
                                            std::size_t n, const std::uint8_t* x, std::size_t b,
                                            std::size_t planes, std::size_t offset,
                                            std::uint8_t* y) {
    alignas(64) std::int16_t joined[capacity];
    const std::size_t vectors = b * pairs_of_planes(planes);
    const std::size_t width = b == 1 ? wide : block_width;
    const std::size_t at_once = capacity / width;
    for (std::size_t v = 0; v < vectors; v += at_once) {
        for (std::size_t j = 0; j == 0 || j < n; j += width) {
            const std::size_t own = least(width, n - j);
            multiply_block({raw(packed), m, n, planes, offset, j, own, (own + 15) / 16 * 16, x, y},
                           v, least(at_once, vectors - v), joined);
        }
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

}  // namespace slip::kernels::avx2
