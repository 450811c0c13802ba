// From floats to integers: ENC-1, with the operations of the portable kernel in the same order, so
// bit for bit the same. The last 8 elements may overlap those before.
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
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const __m256d first = load_4(x + j), second = load_4(x + j + 4);
        low = _mm256_add_pd(low, _mm256_mul_pd(first, first));
        high = _mm256_add_pd(high, _mm256_mul_pd(second, second));
    }
    double lane[float_lanes];
    _mm256_storeu_pd(lane, low);
    _mm256_storeu_pd(lane + 4, high);
    for (std::size_t l = 0; j + l < n; ++l) {
        const double value = x[j + l];
        lane[l] += value * value;
    }
    return ordered_total(lane);
}

/// 4 products x inverse, rounded to the nearest integer, ties to even (CONV-3).
[[gnu::always_inline]] inline __m128i scaled(const float* x, __m256d inverse) {
    return _mm256_cvtpd_epi32(_mm256_round_pd(_mm256_mul_pd(load_4(x), inverse),
                                              _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
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

}  // namespace slip::kernels::avx2
