// Between floats and integers: ENC-1 and ENC-2, with the operations of the portable kernels in the
// same order, so bit for bit the same. The last 8 elements, or 4 of dequantise, may overlap those
// before.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/norm_scaling.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

namespace parameters = base::parameters;

/// max_j |x_j| as the bits of a binary32: without the sign they are ordered as the floats are,
/// infinities and NaNs above every number. Requires: n >= 8.
std::int32_t largest_magnitude_bits(const float* x, std::size_t n) {
    const __m256i no_sign = _mm256_set1_epi32(0x7fffffff);
    __m256i largest = _mm256_setzero_si256();
    for (std::size_t j = 0; j < n; j += 8) {
        const __m256i bits = _mm256_and_si256(load(x + least(j, n - 8)), no_sign);
        largest = _mm256_max_epi32(largest, bits);
    }
    std::int32_t lanes[8];
    store(lanes, largest);
    std::int32_t bits = 0;
    for (const std::int32_t lane : lanes) bits = lane > bits ? lane : bits;
    return bits;
}

/// 4 elements of binary32 as binary64.
[[gnu::always_inline]] inline __m256d load_4(const float* x) {
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

/// S of ENC-1: the ordered sum of the squares, each of them exact in binary64.
double sum_of_squares(const float* x, std::size_t n) {
    __m256d low = _mm256_setzero_pd(), high = low;
    const auto add_8 = [&](const float* from) __attribute__((always_inline)) {
        const __m256d first = load_4(from), second = load_4(from + 4);
        low = _mm256_add_pd(low, _mm256_mul_pd(first, first));
        high = _mm256_add_pd(high, _mm256_mul_pd(second, second));
    };
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) add_8(x + j);
    if (j < n) {
        float rest[8] = {};
        __builtin_memcpy(rest, x + j, (n - j) * sizeof *rest);
        add_8(rest);
    }
    double lane[float_lanes];
    _mm256_storeu_pd(lane, low);
    _mm256_storeu_pd(lane + 4, high);
    return ordered_total(lane);
}

/// 4 products x inverse, rounded to the nearest integer, ties to even (CONV-3).
[[gnu::always_inline]] inline __m128i scaled(const float* x, __m256d inverse) {
    return _mm256_cvtpd_epi32(_mm256_round_pd(_mm256_mul_pd(load_4(x), inverse),
                                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/// 4 integers as binary64, rounded to nearest, ties to even; AVX2 has no instruction for it. With y
/// = 2^32 h + l, 0 <= l < 2^32, the bits of h + 2^31 and l are written into the significands of
/// 2^84 and 2^52. The difference 2^32 h - 2^52 is exact, as |h - 2^20| < 2^53, so that the sum
/// alone rounds.
[[gnu::always_inline]] inline __m256d to_binary64(__m256i y) {
    // The bits of 2^84, and the uppermost one of h, which h + 2^31 has inverted.
    const __m256i upper = _mm256_set1_epi64x(0x4530000080000000);
    const __m256i high = _mm256_xor_si256(_mm256_srli_epi64(y, 32), upper);
    const __m256i low = _mm256_blend_epi32(y, _mm256_castpd_si256(_mm256_set1_pd(0x1p52)), 0xaa);
    const __m256d offset = _mm256_set1_pd(0x1p84 + 0x1p63 + 0x1p52);
    return _mm256_add_pd(_mm256_sub_pd(_mm256_castsi256_pd(high), offset),
                         _mm256_castsi256_pd(low));
}

}  // namespace

float quantise(const float* x, std::size_t n, std::int32_t norm, std::int16_t* q) {
    if (n < 8) return portable::quantise(x, n, norm, q);
    constexpr std::int32_t infinity_bits = 0x7f800000;
    const std::int32_t bits = largest_magnitude_bits(x, n);
    if (bits >= infinity_bits) return -1.0f;
    float max_abs;
    __builtin_memcpy(&max_abs, &bits, sizeof max_abs);
    if (max_abs < parameters::zero_threshold) {
        __builtin_memset(q, 0, n * sizeof *q);
        return 1.0f;
    }
    const Scaling scaling = scaling_of(sum_of_squares(x, n), n, norm);
    const __m256d inverse = _mm256_set1_pd(scaling.inverse);
    for (std::size_t j = 0; j < n; j += 8) {
        const std::size_t at = least(j, n - 8);
        const __m128i eight = _mm_packs_epi32(scaled(x + at, inverse), scaled(x + at + 4, inverse));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(q + at), eight);
    }
    return scaling.scale;
}

void dequantise(const std::int64_t* y, const float* row_scale, float column_scale, std::size_t m,
                float* out) {
    if (m < 4) return portable::dequantise(y, row_scale, column_scale, m, out);
    const __m256d of_column = _mm256_set1_pd(static_cast<double>(column_scale));
    for (std::size_t i = 0; i < m; i += 4) {
        const std::size_t at = least(i, m - 4);
        const __m256d by_row = _mm256_mul_pd(to_binary64(load(y + at)), load_4(row_scale + at));
        _mm_storeu_ps(out + at, _mm256_cvtpd_ps(_mm256_mul_pd(by_row, of_column)));
    }
}

}  // namespace slip::kernels::avx2
