// Between floats and integers: ENC-1 and ENC-2.
#include <algorithm>
#include <bit>

#include "optimized/kernels/leaf/norm_scaling.hpp"
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

/// S of ENC-1: the ordered sum of the squares, each of them exact in binary64.
double sum_of_squares(const float* x, std::size_t n) {
    double lane[float_lanes] = {};
#if defined(__clang__)  // as it is written, so that proofs/asm follows it
#pragma clang loop unroll(disable) vectorize(disable)
#endif
    for (std::size_t j = 0; j < n; ++j) {
        const double value = x[j];
        lane[j % float_lanes] += value * value;
    }
    return ordered_total(lane);
}

/// Rounds |v| <= 2^31 to the nearest integer, ties to even (CONV-3): at 1.5 * 2^52 the step of a
/// binary64 is 1, so the sum is rounded to an integer and its lowest bits are that integer's.
std::int16_t round_half_even(double v) {
    constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52
    return static_cast<std::int16_t>(std::bit_cast<std::int64_t>(v + shift));
}

}  // namespace

float quantise(const float* x, std::size_t n, std::int32_t norm, std::int16_t* q) {
    constexpr std::int32_t infinity_bits = 0x7f800000;
    const std::int32_t bits = largest_magnitude_bits(x, n);
    if (bits >= infinity_bits) return -1.0f;
    if (std::bit_cast<float>(bits) < parameters::zero_threshold) {
        std::fill_n(q, n, std::int16_t{0});
        return 1.0f;
    }
    const Scaling scaling = scaling_of(sum_of_squares(x, n), n, norm);
    for (std::size_t j = 0; j < n; ++j) q[j] = round_half_even(double{x[j]} * scaling.inverse);
    return scaling.scale;
}

void dequantise(const std::int64_t* y, const float* row_scale, float column_scale, std::size_t m,
                float* out) {
    for (std::size_t i = 0; i < m; ++i) {
        const double scaled = static_cast<double>(y[i]) * double{row_scale[i]};
        out[i] = static_cast<float>(scaled * double{column_scale});
    }
}

}  // namespace slip::kernels::portable
