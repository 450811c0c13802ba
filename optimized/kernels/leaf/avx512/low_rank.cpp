// Charlie's low-rank part (LIN-2, DECO-7): y = 2^t y_D + A (B q).
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Elements of a row of B at a time. q = low + 2^8 high with |low|, |high| <= 2^7, and each of the
/// 16 lanes sums a 16th of the products: 32767 * 2^7 * 512 = 2,147,418,112 <= 2^31 - 1.
constexpr std::size_t pass = 512 * 16;

struct Limbs {
    alignas(64) std::int16_t low[pass];
    alignas(64) std::int16_t high[pass];
};

/// The limbs of q, with zeros up to a whole register.
void split(const std::int16_t* q, std::size_t n, Limbs& limbs) {
    for (std::size_t j = 0; j < n; j += 32) {
        const __m512i v = _mm512_maskz_loadu_epi16(first_32(n - j), q + j);
        const __m512i low = _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8);
        _mm512_store_si512(limbs.low + j, low);
        // (v - low) / 2^8: v / 2^8 rounded down, and 1 more where low is negative.
        _mm512_store_si512(limbs.high + j,
                           _mm512_add_epi16(_mm512_srai_epi16(v, 8), _mm512_srli_epi16(low, 15)));
    }
}

std::int64_t lane_sum(__m512i v) {
    const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(v));
    const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(v, 1));
    return _mm512_reduce_add_epi64(_mm512_add_epi64(low, high));
}

/// Sums over the low and the high limbs of q for one row of B.
struct RowSums {
    __m512i low = _mm512_setzero_si512();
    __m512i high = _mm512_setzero_si512();

    [[gnu::always_inline]] void add(__m512i row, __m512i q_low, __m512i q_high) {
        low = _mm512_dpwssd_epi32(low, row, q_low);
        high = _mm512_dpwssd_epi32(high, row, q_high);
    }
    std::int64_t total() const { return lane_sum(low) + lane_sum(high) * 256; }
};

/// z[c] += B q for one pass and R rows of B, `stride` apart.
template <std::size_t R>
void add_rows(const std::int16_t* rows, std::size_t stride, std::size_t n, const Limbs& q,
              std::int64_t* z) {
    RowSums a, b, c, d;  // named, because g++ 12 keeps arrays in memory
    const auto add = [&](std::size_t j, __mmask32 lanes) {
        const __m512i low = _mm512_load_si512(q.low + j);
        const __m512i high = _mm512_load_si512(q.high + j);
        a.add(_mm512_maskz_loadu_epi16(lanes, rows + j), low, high);
        if constexpr (R == 4) {
            b.add(_mm512_maskz_loadu_epi16(lanes, rows + stride + j), low, high);
            c.add(_mm512_maskz_loadu_epi16(lanes, rows + 2 * stride + j), low, high);
            d.add(_mm512_maskz_loadu_epi16(lanes, rows + 3 * stride + j), low, high);
        }
    };
    std::size_t j = 0;
    for (; j + 32 <= n; j += 32) add(j, ~__mmask32{0});
    if (j < n) add(j, first_32(n - j));
    z[0] += a.total();
    if constexpr (R == 4) {
        z[1] += b.total();
        z[2] += c.total();
        z[3] += d.total();
    }
}

/// sum += 8 products of an int32 and an int64, mod 2^64.
[[gnu::always_inline]] inline void add_products(__m512i& sum, __m256i a, __m512i z) {
    sum = _mm512_add_epi64(sum, _mm512_mullo_epi64(_mm512_cvtepi32_epi64(a), z));
}

/// a0 + a1, b0 + b1, a2 + a3, b2 + b3, ...
[[gnu::always_inline]] inline __m512i pair_sums(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/// The sums of the 128-bit lanes 0, 1 and 2, 3 of a, then of b.
[[gnu::always_inline]] inline __m512i lane_pair_sums(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
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

void low_rank_inner(const std::int16_t* bmat, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    Limbs limbs;
    for (std::size_t c = 0; c < k; ++c) z[c] = 0;
    for (std::size_t first = 0; first < n; first += pass) {
        const std::size_t width = least(pass, n - first);
        split(q + first, width, limbs);
        std::size_t c = 0;
        for (; c + 4 <= k; c += 4) add_rows<4>(bmat + c * n + first, n, width, limbs, z + c);
        for (; c < k; ++c) add_rows<1>(bmat + c * n + first, n, width, limbs, z + c);
    }
    wipe(limbs.low, least(pass, n) * sizeof(std::int16_t));  // activations
    wipe(limbs.high, least(pass, n) * sizeof(std::int16_t));
}

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
