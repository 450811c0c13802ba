// MODEL-2, MODEL-5, MODEL-8 and MODEL-9: Charlie's float operations, each with one fixed order of
// evaluation.
#include "optimized/graph/operations.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "optimized/base/parameters.hpp"

namespace slip::graph {
namespace {

using base::MatrixView;

constexpr std::size_t lanes = 8;

/// Lane l plus lane l + 4, then the four sums from left to right.
float sum_of(const std::array<float, lanes>& partial) {
    std::array<float, lanes / 2> half;
    for (std::size_t l = 0; l < half.size(); ++l) half[l] = partial[l] + partial[l + half.size()];
    return half[0] + half[1] + half[2] + half[3];
}

/// sum_j x[j], in the order of dot().
float sum(std::span<const float> x) {
    const std::size_t whole = x.size() / lanes * lanes;
    std::array<float, lanes> partial{};
    for (std::size_t j = 0; j < whole; j += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) partial[l] += x[j + l];
    }
    for (std::size_t j = whole; j < x.size(); ++j) partial[j - whole] += x[j];
    return sum_of(partial);
}

/// The nearest number in [-87, 87], or the NaN. On the bits, which are ordered as the magnitudes
/// are: compilers do not turn comparisons of floats into vector instructions.
inline float clamp_to_87(float x) {
    constexpr std::int32_t limit = std::bit_cast<std::int32_t>(87.0F);
    constexpr std::int32_t infinity = 0x7f800000;
    const auto bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t magnitude = bits & 0x7fffffff;
    const std::int32_t clamped = (bits ^ magnitude) | std::min(magnitude, limit);
    return std::bit_cast<float>(magnitude > infinity ? bits : clamped);
}

/// exponential(), for the loops that become vectors.
///
/// exp(x) = 2^e exp(r) with e = round(x / ln 2) and |r| <= ln 2 / 2 < 0.3466. The Taylor polynomial
/// of degree 7 leaves less than 0.3466^8 / 8! * 1.5 < 2^-26 of exp(r).
inline float exp_inline(float x) {
    constexpr float one_and_a_half = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
    constexpr float inverse_ln2 = 1.44269504F;
    constexpr float ln2_high = 0.693359375F;  // 9 bits long: e * ln2_high is exact
    constexpr float ln2_low = -2.12194440e-4F;

    const float clamped = clamp_to_87(x);
    const float rounded = clamped * inverse_ln2 + one_and_a_half;
    const float e = rounded - one_and_a_half;
    const float r = (clamped - e * ln2_high) - e * ln2_low;

    float series = 1.0F / 5040;
    series = series * r + 1.0F / 720;
    series = series * r + 1.0F / 120;
    series = series * r + 1.0F / 24;
    series = series * r + 1.0F / 6;
    series = series * r + 0.5F;
    series = series * r + 1.0F;
    series = series * r + 1.0F;
    // The last bits of `rounded` are e; moved to the exponent's place they make 2^e.
    const auto scale = (std::bit_cast<std::uint32_t>(rounded) << 23) + (std::uint32_t{127} << 23);
    return series * std::bit_cast<float>(scale);
}

}  // namespace

float dot(std::span<const float> a, std::span<const float> b) {
    const float* x = a.data();
    const float* y = b.data();
    const std::size_t whole = a.size() / lanes * lanes;
    std::array<float, lanes> partial{};
    for (std::size_t j = 0; j < whole; j += lanes) {
        for (std::size_t l = 0; l < lanes; ++l) partial[l] += x[j + l] * y[j + l];
    }
    for (std::size_t j = whole; j < a.size(); ++j) partial[j - whole] += x[j] * y[j];
    return sum_of(partial);
}

float exponential(float x) { return exp_inline(x); }

void rms_norm(MatrixView<const float> rows, std::span<const float> weight, float epsilon,
              MatrixView<float> out) {
    const std::size_t n = rows.cols();
    for (std::size_t t = 0; t < rows.rows(); ++t) {
        const std::span x = rows.row(t);
        const std::span y = out.row(t);
        const float mean_square = dot(x, x) / static_cast<float>(n);
        const float inverse = 1.0F / std::sqrt(mean_square + epsilon);
        for (std::size_t j = 0; j < n; ++j) y[j] = weight[j] * (x[j] * inverse);
    }
}

void layer_norm(MatrixView<const float> rows, const LayerNorm& norm, float epsilon,
                MatrixView<float> out) {
    const std::size_t n = rows.cols();
    for (std::size_t t = 0; t < rows.rows(); ++t) {
        const std::span x = rows.row(t);
        const std::span y = out.row(t);
        const float mean = sum(x) / static_cast<float>(n);
        for (std::size_t j = 0; j < n; ++j) y[j] = x[j] - mean;
        const float variance = dot(y, y) / static_cast<float>(n);
        const float inverse = 1.0F / std::sqrt(variance + epsilon);
        for (std::size_t j = 0; j < n; ++j) {
            y[j] = y[j] * inverse * norm.weight[j] + norm.bias[j];
        }
    }
}

void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines) {
    const std::size_t half = head.size() / 2;
    for (std::size_t j = 0; j < half; ++j) {
        const float first = head[j];
        const float second = head[j + half];
        head[j] = first * cosines[j] - second * sines[j];
        head[j + half] = second * cosines[j] + first * sines[j];
    }
}

void softmax(std::span<float> scores) {
    const float largest = *std::max_element(scores.begin(), scores.end());
    float* weights = scores.data();
    for (std::size_t j = 0; j < scores.size(); ++j) weights[j] = exp_inline(weights[j] - largest);
    const float inverse = 1.0F / sum(scores);
    for (std::size_t j = 0; j < scores.size(); ++j) weights[j] *= inverse;
}

void swiglu(std::span<float> gate, std::span<const float> up) {
    for (std::size_t j = 0; j < gate.size(); ++j) {
        gate[j] = gate[j] / (1.0F + exp_inline(-gate[j])) * up[j];
    }
}

void gelu(std::span<float> x) {
    constexpr float two_root = 1.59576912F;  // 2 sqrt(2 / pi)
    for (std::size_t j = 0; j < x.size(); ++j) {
        const float doubled =
            two_root * (x[j] + base::parameters::gelu_cubic * (x[j] * x[j] * x[j]));
        x[j] = x[j] / (1.0F + exp_inline(-doubled));
    }
}

void add_scaled(std::span<float> sum, float weight, std::span<const float> x) {
    float* __restrict target = sum.data();
    const float* __restrict source = x.data();
    for (std::size_t j = 0; j < sum.size(); ++j) target[j] += weight * source[j];
}

void add(MatrixView<const float> x, MatrixView<float> sum) {
    add_scaled(sum.elements(), 1.0F, x.elements());
}

void add_bias(std::span<const float> bias, MatrixView<float> rows) {
    for (std::size_t t = 0; t < rows.rows(); ++t) add_scaled(rows.row(t), 1.0F, bias);
}

}  // namespace slip::graph
