// From real activations to integers and back: one symmetric scale per token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/integer.hpp"

namespace slip::reference {

/// CONV-3. The integer nearest to x, the even one of two equally near. Exact for every finite x:
/// it works on the fraction that x is, not on the machine's rounding mode. Error: x not finite.
Integer round_half_even(double x);

/// One token x in R^n as integers: x_j is approximately scale q_j.
struct QuantisedToken {
    Vector q;     ///< n integers in [-qa_max, qa_max]
    float scale;  ///< positive

    friend bool operator==(const QuantisedToken&, const QuantisedToken&) = default;
};

/// ENC-1. Quantises one token.
///
///     max_abs = max_j |x_j|;   below 2^-100 the token is the zero token: scale = 1, q = 0
///     scale   = max_abs / qa_max,   inverse = qa_max / max_abs      (one binary32 division each)
///     q_j     = clamp(round_half_even(x_j inverse), -qa_max, qa_max)   (one binary32 product)
///
/// Errors: an entry is NaN or infinite ("activation is not finite"); qa_max outside 1..32767.
QuantisedToken quantise(std::span<const float> x, std::int32_t qa_max);

/// ENC-2. float32(double(y) double(row_scale) double(token_scale)), left to right in binary64,
/// with y converted to binary64 to nearest, ties to even. Error: y outside int64.
float dequantise(const Integer& y, float row_scale, float token_scale);

/// ENC-2, row by row: m integers and m row scales to m floats. Error: lengths differ.
std::vector<float> dequantise(const Vector& y, std::span<const float> row_scale, float token_scale);

/// ENC-3. The largest quantised activation of a group with these W_D, all on one input:
///
///     qa_max = min(32767, floor(floor((L - 1) / 2) / max_i sum_j |W_D(i, j)|))
///
/// over the rows i of every member; 32767 if all rows are zero. The result is 0 where L is too
/// small for any activation. Error: no member, members with unequal numbers of columns, L < 2.
std::int32_t largest_activation(const std::vector<Matrix>& members, const Integer& L);

/// ENC-3. Error: qa_max < 127, too coarse to be useful; such a group is refused when splitting.
void require_useful_activation(std::int32_t qa_max);

/// ENC-4. Bnd = qa_max max_i sum_j |W_D(i, j)|, which bounds |W_D q| for |q_j| <= qa_max.
/// Unmasking is exact when L >= 2 Bnd + 1. Error: no member, qa_max < 0.
Integer static_bound(const std::vector<Matrix>& members, std::int32_t qa_max);

/// ENC-4. Whether L >= 2 Bnd + 1.
bool fits_modulus(const std::vector<Matrix>& members, std::int32_t qa_max, const Integer& L);

/// ENC-5. Whether qa_max max_i sum_j |W_int(i, j)| <= 2^63 - 1, so that W_int q fits int64.
/// Error: no member, qa_max < 0.
bool fits_64_bits(const std::vector<Matrix>& integer_weights, std::int32_t qa_max);

}  // namespace slip::reference
