// Between floats and integers: ENC-1 and ENC-2, with the operations of the portable kernels in the
// same order, so bit for bit the same.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/norm_scaling.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// max_j |x_j| as the bits of a binary32: without the sign they are ordered as the floats are,
/// infinities and NaNs above every number.
std::int32_t largest_magnitude_bits(const float* x, std::size_t n) {
    const __m512i no_sign = _mm512_set1_epi32(0x7fffffff);
    __m512i largest = _mm512_setzero_si512();
    for_each_16(n, [&](std::size_t j, __mmask16 lanes) {
        const __m512i bits = _mm512_maskz_loadu_epi32(lanes, x + j);
        largest = _mm512_max_epi32(largest, _mm512_and_si512(bits, no_sign));
    });
    return _mm512_reduce_max_epi32(largest);
}

/// S of ENC-1: the ordered sum of the squares, each of them exact in binary64.
double sum_of_squares(const float* x, std::size_t n) {
    __m512d sum = _mm512_setzero_pd();
    for_each_8(n, [&](std::size_t j, __mmask8 lanes) {
        const __m512d values = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, x + j));
        sum = _mm512_add_pd(sum, _mm512_mul_pd(values, values));
    });
    double lane[float_lanes];
    _mm512_storeu_pd(lane, sum);
    return ordered_total(lane);
}

}  // namespace

float quantise(const float* x, std::size_t n, std::int32_t norm, std::int16_t* q) {
    constexpr std::int32_t infinity_bits = 0x7f800000;
    const std::int32_t bits = largest_magnitude_bits(x, n);
    if (bits >= infinity_bits) return -1.0f;
    float max_abs;
    __builtin_memcpy(&max_abs, &bits, sizeof max_abs);
    if (max_abs < base::parameters::zero_threshold) {
        if (n != 0) __builtin_memset(q, 0, n * sizeof *q);
        return 1.0f;
    }
    const Scaling scaling = scaling_of(sum_of_squares(x, n), n, norm);
    const __m512d inverse = _mm512_set1_pd(scaling.inverse);
    for_each_8(n, [&](std::size_t j, __mmask8 lanes) {
        const __m512d scaled =
            _mm512_mul_pd(_mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, x + j)), inverse);
        // CONV-3: to nearest, ties to even, whatever the processor's mode is.
        const __m256i rounded =
            _mm512_cvt_roundpd_epi32(scaled, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm_mask_storeu_epi16(q + j, lanes, _mm256_cvtepi32_epi16(rounded));
    });
    return scaling.scale;
}

void dequantise(const std::int64_t* y, const float* row_scale, float column_scale, std::size_t m,
                float* out) {
    const __m512d of_column = _mm512_set1_pd(static_cast<double>(column_scale));
    for_each_8(m, [&](std::size_t i, __mmask8 lanes) {
        const __m512d integers = _mm512_cvtepi64_pd(_mm512_maskz_loadu_epi64(lanes, y + i));
        const __m512d of_row = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(lanes, row_scale + i));
        const __m512d scaled = _mm512_mul_pd(_mm512_mul_pd(integers, of_row), of_column);
        _mm256_mask_storeu_ps(out + i, lanes, _mm512_cvtpd_ps(scaled));
    });
}

}  // namespace slip::kernels::avx512
