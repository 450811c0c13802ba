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
    Vector q;     ///< n integers with a 2-norm of at most B_q
    float scale;  ///< positive

    friend bool operator==(const QuantisedToken&, const QuantisedToken&) = default;
};

/// ENC-1. The ordered sum of the squares of x, in binary64: lane l = 0..7 sums x_l^2, x_(l+8)^2,
/// ...; then the lanes l and l + 4 are added, and these four from left to right.
double ordered_sum_of_squares(std::span<const float> x);

/// ENC-1. Quantises one token such that ||q||_2 <= B_q.
///
///     max_j |x_j| < 2^-100: the zero token, scale = 1 and q = 0; otherwise, in binary64,
///     target  = B_q - (sqrt(n) + 1) / 2          rounding adds at most sqrt(n) / 2 to the norm
///     norm    = sqrt(sum_j x_j^2)                the ordered sum
///     inverse = target / norm
///     q_j     = round_half_even(x_j inverse),    scale = float32(norm / target)
///
/// Errors: an entry is NaN or infinite ("activation is not finite"); B_q > 32767, or so small that
/// target <= 0.
QuantisedToken quantise(std::span<const float> x, std::int32_t B_q);

/// ENC-2. float32(double(y) double(row_scale) double(token_scale)), left to right in binary64,
/// with y converted to binary64 to nearest, ties to even. Error: y outside int64.
float dequantise(const Integer& y, float row_scale, float token_scale);

/// ENC-2, row by row: m integers and m row scales to m floats. Error: lengths differ.
std::vector<float> dequantise(const Vector& y, std::span<const float> row_scale, float token_scale);

/// ENC-3. B_w, the least integer that no row of these W_D exceeds in its 2-norm.
/// Error: no member, members with unequal numbers of columns.
Integer weight_norm(const std::vector<Matrix>& members);

/// ENC-3. B_q, the norm of activations of a group with these W_D, all on one input:
///
///     B_q = min(32767, floor(floor((L - 1) / 2) / B_w)),    32767 if B_w = 0
///
/// The result is 0 where L is too small for any activation. Errors: those of weight_norm, L < 2.
std::int32_t activation_norm(const std::vector<Matrix>& members, const Integer& L);

/// ENC-3. Error: B_q < 1024, too coarse to be useful; such a group is refused when splitting.
void require_useful_norm(std::int32_t B_q);

/// ENC-4. Whether B_w B_q <= (L - 1) / 2. By Cauchy-Schwarz |(W_D q)_i| <= ||W_D(i, .)|| ||q|| <=
/// B_w B_q, so then unmasking is exact. Errors: those of weight_norm, B_q < 0.
bool fits_modulus(const std::vector<Matrix>& members, std::int32_t B_q, const Integer& L);

/// ENC-5. Whether B_q max_i sum_j |W_int(i, j)| <= 2^63 - 1, so that W_int q fits int64: no |q_j|
/// exceeds ||q||. Errors: those of weight_norm, B_q < 0.
bool fits_64_bits(const std::vector<Matrix>& integer_weights, std::int32_t B_q);

}  // namespace slip::reference
