// Between floats and integers: ENC-1 and ENC-2.
#include <algorithm>
#include <bit>

#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

namespace parameters = base::parameters;

/// max_j |x_j| as the bits of a binary32. Without the sign bit the bits of floats are ordered as
/// the floats are, infinities and NaNs above every number.
std::int32_t largest_magnitude_bits(const float* x, std::size_t n) {
    std::int32_t largest = 0;
    for (std::size_t j = 0; j < n; ++j) {
        largest = std::max(largest, std::bit_cast<std::int32_t>(x[j]) & 0x7fffffff);
    }
    return largest;
}

static_assert(parameters::largest_qa_max < 1 << 22);  // and half a step of rounding

/// Rounds |v| <= 2^22 to the nearest integer, ties to even (CONV-3): at 1.5 * 2^23 the step of a
/// binary32 is 1, so the sum is rounded to an integer and its lowest bits are that integer's.
std::int32_t round_half_even(float v) {
    constexpr float shift = 12582912.0f;  // 1.5 * 2^23
    return std::bit_cast<std::int32_t>(v + shift) - std::bit_cast<std::int32_t>(shift);
}

}  // namespace

float quantise(const float* x, std::size_t n, std::int32_t qa_max, std::int16_t* q) {
    constexpr std::int32_t infinity_bits = 0x7f800000;
    const std::int32_t bits = largest_magnitude_bits(x, n);
    if (bits >= infinity_bits) return -1.0f;
    const float max_abs = std::bit_cast<float>(bits);
    if (max_abs < parameters::zero_threshold) {
        std::fill_n(q, n, std::int16_t{0});
        return 1.0f;
    }
    const float scale = max_abs / static_cast<float>(qa_max);
    const float inverse = static_cast<float>(qa_max) / max_abs;
    for (std::size_t j = 0; j < n; ++j) {
        const std::int32_t rounded = round_half_even(x[j] * inverse);
        q[j] = static_cast<std::int16_t>(std::clamp(rounded, -qa_max, qa_max));
    }
    return scale;
}

void dequantise(const std::int64_t* y, const float* row_scale, float column_scale, std::size_t m,
                float* out) {
    for (std::size_t i = 0; i < m; ++i) {
        const double scaled = static_cast<double>(y[i]) * double{row_scale[i]};
        out[i] = static_cast<float>(scaled * double{column_scale});
    }
}

}  // namespace slip::kernels::portable
