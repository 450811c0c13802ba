#include "reference/encoding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "reference/error.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {

namespace {

/// 2^-100: below it a token counts as zero, so that neither quotient of ENC-1 overflows.
constexpr float zero_threshold = 0x1p-100F;

/// numerator / denominator to the nearest integer, ties to even; numerator >= 0, denominator > 0.
Integer nearest_quotient(const Integer& numerator, const Integer& denominator) {
    Integer quotient = numerator / denominator;
    const Integer twice_remainder = 2 * (numerator % denominator);
    const bool odd = quotient % 2 == 1;
    if (twice_remainder > denominator || (twice_remainder == denominator && odd)) ++quotient;
    return quotient;
}

void require_one_input(const std::vector<Matrix>& members) {
    require(!members.empty(), "a group has at least one member");
    for (const Matrix& member : members) {
        require(member.cols() == members.front().cols(), "the members of a group share one input");
    }
}

}  // namespace

Integer round_half_even(double x) {  // CONV-3
    require(std::isfinite(x), "only a finite number can be rounded");
    // |x| = mantissa 2^exponent with an integer mantissa below 2^53, exactly.
    int exponent = 0;
    const double fraction = std::frexp(std::abs(x), &exponent);
    const Integer mantissa(static_cast<std::int64_t>(std::ldexp(fraction, 53)));
    exponent -= 53;
    const Integer power = Integer(1) << std::abs(exponent);
    const Integer magnitude =
        exponent >= 0 ? Integer(mantissa * power) : nearest_quotient(mantissa, power);
    return x < 0 ? Integer(-magnitude) : magnitude;
}

double ordered_sum_of_squares(std::span<const float> x) {  // ENC-1
    std::array<double, 8> lane{};
    for (std::size_t j = 0; j < x.size(); ++j) {
        const auto x_j = static_cast<double>(x[j]);
        lane[j % 8] += x_j * x_j;
    }
    return (((lane[0] + lane[4]) + (lane[1] + lane[5])) + (lane[2] + lane[6])) +
           (lane[3] + lane[7]);
}

QuantisedToken quantise(std::span<const float> x, std::int32_t B_q) {  // ENC-1
    require(B_q <= largest_activation_norm, "B_q is at most 32767");
    const double target = B_q - (std::sqrt(static_cast<double>(x.size())) + 1) / 2;
    require(target > 0, "B_q leaves room for the rounding of n entries");
    float max_abs = 0;
    for (float x_j : x) {
        require(std::isfinite(x_j), "activation is not finite");
        max_abs = std::max(max_abs, std::abs(x_j));
    }
    if (max_abs < zero_threshold) return {Vector(x.size(), Integer(0)), 1.0F};

    const double norm = std::sqrt(ordered_sum_of_squares(x));
    const double inverse = target / norm;
    QuantisedToken token{{}, static_cast<float>(norm / target)};
    for (float x_j : x) token.q.push_back(round_half_even(static_cast<double>(x_j) * inverse));
    return token;
}

float dequantise(const Integer& y, float row_scale, float token_scale) {  // ENC-2
    require(std::numeric_limits<std::int64_t>::min() <= y &&
                y <= std::numeric_limits<std::int64_t>::max(),
            "an integer output fits int64");
    const auto output = static_cast<double>(y.convert_to<std::int64_t>());
    const double scaled_by_row = output * static_cast<double>(row_scale);
    return static_cast<float>(scaled_by_row * static_cast<double>(token_scale));
}

std::vector<float> dequantise(const Vector& y, std::span<const float> row_scale,
                              float token_scale) {
    require(y.size() == row_scale.size(), "every output row has one scale");
    std::vector<float> output;
    for (std::size_t i = 0; i < y.size(); ++i) {
        output.push_back(dequantise(y[i], row_scale[i], token_scale));
    }
    return output;
}

Integer weight_norm(const std::vector<Matrix>& members) {  // ENC-3
    require_one_input(members);
    Integer largest = 0;
    for (const Matrix& member : members) largest = std::max(largest, largest_row_square(member));
    const Integer root = sqrt(largest);
    return root * root == largest ? root : Integer(root + 1);
}

std::int32_t activation_norm(const std::vector<Matrix>& members, const Integer& L) {  // ENC-3
    require(L >= 2, "a modulus is at least 2");
    const Integer B_w = weight_norm(members);
    if (B_w == 0) return largest_activation_norm;
    const Integer largest = ((L - 1) / 2) / B_w;
    return std::min(largest, Integer(largest_activation_norm)).convert_to<std::int32_t>();
}

void require_useful_norm(std::int32_t B_q) {  // ENC-3
    require(B_q >= smallest_activation_norm,
            "the weights are too large for this modulus: the activation norm is below 1024");
}

bool fits_modulus(const std::vector<Matrix>& members, std::int32_t B_q,
                  const Integer& L) {  // ENC-4
    require(B_q >= 0, "B_q is not negative");
    return weight_norm(members) * B_q <= (L - 1) / 2;
}

bool fits_64_bits(const std::vector<Matrix>& integer_weights, std::int32_t B_q) {  // ENC-5
    require(B_q >= 0, "B_q is not negative");
    require_one_input(integer_weights);
    Integer largest = 0;
    for (const Matrix& weights : integer_weights) {
        largest = std::max(largest, largest_row_norm(weights));
    }
    return B_q * largest <= (Integer(1) << 63) - 1;
}

}  // namespace slip::reference
