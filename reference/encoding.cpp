#include "reference/encoding.hpp"

#include <algorithm>
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

Integer largest_member_norm(const std::vector<Matrix>& members) {
    require(!members.empty(), "a group has at least one member");
    Integer largest = 0;
    for (const Matrix& member : members) {
        require(member.cols() == members.front().cols(), "the members of a group share one input");
        largest = std::max(largest, largest_row_norm(member));
    }
    return largest;
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

QuantisedToken quantise(std::span<const float> x, std::int32_t qa_max) {  // ENC-1
    require(1 <= qa_max && qa_max <= largest_quantised_value, "qa_max lies in 1..32767");
    float max_abs = 0;
    for (float x_j : x) {
        require(std::isfinite(x_j), "activation is not finite");
        max_abs = std::max(max_abs, std::abs(x_j));
    }
    if (max_abs < zero_threshold) return {Vector(x.size(), Integer(0)), 1.0F};

    const float scale = max_abs / static_cast<float>(qa_max);
    const float inverse = static_cast<float>(qa_max) / max_abs;
    QuantisedToken token{{}, scale};
    for (float x_j : x) {
        const float product = x_j * inverse;
        const Integer nearest = round_half_even(static_cast<double>(product));
        token.q.push_back(std::clamp(nearest, Integer(-qa_max), Integer(qa_max)));
    }
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

std::int32_t largest_activation(const std::vector<Matrix>& members, const Integer& L) {  // ENC-3
    require(L >= 2, "a modulus is at least 2");
    const Integer norm = largest_member_norm(members);
    if (norm == 0) return largest_quantised_value;
    const Integer largest = ((L - 1) / 2) / norm;
    return std::min(largest, Integer(largest_quantised_value)).convert_to<std::int32_t>();
}

void require_useful_activation(std::int32_t qa_max) {  // ENC-3
    require(qa_max >= smallest_useful_activation,
            "the weights are too large for this modulus: qa_max is below 127");
}

Integer static_bound(const std::vector<Matrix>& members, std::int32_t qa_max) {  // ENC-4
    require(qa_max >= 0, "qa_max is not negative");
    return qa_max * largest_member_norm(members);
}

bool fits_modulus(const std::vector<Matrix>& members, std::int32_t qa_max,
                  const Integer& L) {  // ENC-4
    return L >= 2 * static_bound(members, qa_max) + 1;
}

bool fits_64_bits(const std::vector<Matrix>& integer_weights, std::int32_t qa_max) {  // ENC-5
    require(qa_max >= 0, "qa_max is not negative");
    return qa_max * largest_member_norm(integer_weights) <= (Integer(1) << 63) - 1;
}

}  // namespace slip::reference
