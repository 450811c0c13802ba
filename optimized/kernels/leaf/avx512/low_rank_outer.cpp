// y = 2^t y_D + A z (LIN-2, DECO-7) for A of 32 bits.
#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"

namespace slip::kernels::avx512 {
namespace {

/// sum += 8 products of an int32 and an int64, mod 2^64.
[[gnu::always_inline]] inline void add_products(__m512i& sum, __m256i a, __m512i z) {
    sum = _mm512_add_epi64(sum, _mm512_mullo_epi64(_mm512_cvtepi32_epi64(a), z));
}

/// (A z)[r] in lane r, for 8 rows of A that are k long. Partial sums may wrap (DECO-7).
__m512i eight_rows(const std::int32_t* a, std::size_t k, const std::int64_t* z) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i s_0 = zero, s_1 = zero, s_2 = zero, s_3 = zero;
    __m512i s_4 = zero, s_5 = zero, s_6 = zero, s_7 = zero;
    const auto add = [&](std::size_t c, __mmask8 lanes) {
        const __m512i factors = _mm512_maskz_loadu_epi64(lanes, z + c);
        const std::int32_t* const column = a + c;
        add_products(s_0, _mm256_maskz_loadu_epi32(lanes, column), factors);
        add_products(s_1, _mm256_maskz_loadu_epi32(lanes, column + k), factors);
        add_products(s_2, _mm256_maskz_loadu_epi32(lanes, column + 2 * k), factors);
        add_products(s_3, _mm256_maskz_loadu_epi32(lanes, column + 3 * k), factors);
        add_products(s_4, _mm256_maskz_loadu_epi32(lanes, column + 4 * k), factors);
        add_products(s_5, _mm256_maskz_loadu_epi32(lanes, column + 5 * k), factors);
        add_products(s_6, _mm256_maskz_loadu_epi32(lanes, column + 6 * k), factors);
        add_products(s_7, _mm256_maskz_loadu_epi32(lanes, column + 7 * k), factors);
    };
    std::size_t c = 0;
    for (; c + 8 <= k; c += 8) add(c, 0xff);
    if (c < k) add(c, first_8(k - c));
    return lane_pair_sums(lane_pair_sums(pair_sums(s_0, s_1), pair_sums(s_2, s_3)),
                          lane_pair_sums(pair_sums(s_4, s_5), pair_sums(s_6, s_7)));
}

/// The sum of the lanes mod 2^64. The header's own reduction adds the last two as signed numbers,
/// which may not wrap.
std::int64_t wrapping_sum(__m512i v) {
    const __m256i four =
        _mm256_add_epi64(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(_mm_cvtsi128_si64(two)) +
                                     static_cast<std::uint64_t>(_mm_extract_epi64(two, 1)));
}

/// (A z)[0] in lane 0 for a single row.
__m512i one_row(const std::int32_t* a, std::size_t k, const std::int64_t* z) {
    __m512i sum = _mm512_setzero_si512();
    for (std::size_t c = 0; c < k; c += 8) {
        const __mmask8 lanes = first_8(k - c);
        add_products(sum, _mm256_maskz_loadu_epi32(lanes, a + c),
                     _mm512_maskz_loadu_epi64(lanes, z + c));
    }
    return _mm512_maskz_set1_epi64(1, wrapping_sum(sum));
}

/// y = 2^20 y_D + A z; `y_david(i, lanes)` loads y_D from row i on.
template <class Load>
void combine(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
             const Load& y_david, std::int64_t* y) {
    const auto store = [&](std::size_t i, __mmask8 lanes, __m512i product) {
        const __m512i david = _mm512_slli_epi64(y_david(i, lanes), 20);
        _mm512_mask_storeu_epi64(y + i, lanes, _mm512_add_epi64(david, product));
    };
    std::size_t i = 0;
    for (; i + 8 <= m; i += 8) store(i, 0xff, eight_rows(a + i * k, k, z));
    for (; i < m; ++i) store(i, 1, one_row(a + i * k, k, z));
}

}  // namespace

void low_rank_outer_p31(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
                        const std::int32_t* y_david, std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes, y_david + i));
    };
    combine(a, m, k, z, load, y);
}

void low_rank_outer_p61(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
                        const std::int64_t* y_david, std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_maskz_loadu_epi64(lanes, y_david + i);
    };
    combine(a, m, k, z, load, y);
}

}  // namespace slip::kernels::avx512
