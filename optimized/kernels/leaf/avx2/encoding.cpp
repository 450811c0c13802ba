// From floats to integers: ENC-1, with the operations of the portable kernel in the same order, so
// bit for bit the same. The last 8 elements may overlap those before.
#include "optimized/kernels/leaf/avx2/layout.hpp"
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

static_assert(parameters::largest_qa_max < 1 << 22);  // and half a step of rounding

/// Rounds |v| <= 2^22 to the nearest integer, ties to even (CONV-3): at 1.5 * 2^23 the step of a
/// binary32 is 1, so the sum is rounded to an integer and its lowest bits are that integer's.
__m256i round_half_even(__m256 v) {
    const __m256 shift = _mm256_set1_ps(12582912.0f);  // 1.5 * 2^23
    return _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(v, shift)),
                            _mm256_castps_si256(shift));
}

}  // namespace

float quantise(const float* x, std::size_t n, std::int32_t qa_max, std::int16_t* q) {
    if (n < 8) return portable::quantise(x, n, qa_max, q);
    constexpr std::int32_t infinity_bits = 0x7f800000;
    const std::int32_t bits = largest_magnitude_bits(x, n);
    if (bits >= infinity_bits) return -1.0f;
    float max_abs;
    __builtin_memcpy(&max_abs, &bits, sizeof max_abs);
    if (max_abs < parameters::zero_threshold) {
        __builtin_memset(q, 0, n * sizeof *q);
        return 1.0f;
    }
    const float scale = max_abs / static_cast<float>(qa_max);
    const __m256 inverse = _mm256_set1_ps(static_cast<float>(qa_max) / max_abs);
    const __m256i most = _mm256_set1_epi32(qa_max);
    const __m256i lowest = _mm256_set1_epi32(-qa_max);
    for (std::size_t j = 0; j < n; j += 8) {
        const std::size_t at = least(j, n - 8);
        const __m256i rounded = round_half_even(_mm256_mul_ps(_mm256_loadu_ps(x + at), inverse));
        const __m256i clamped = _mm256_max_epi32(_mm256_min_epi32(rounded, most), lowest);
        const __m128i eight =
            _mm_packs_epi32(_mm256_castsi256_si128(clamped), _mm256_extracti128_si256(clamped, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(q + at), eight);
    }
    return scale;
}

}  // namespace slip::kernels::avx2
