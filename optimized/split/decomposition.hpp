// W -> W_int = 2^t W_D + A B: spec/decomposition.md and spec/encoding.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "optimized/artifact/integer_model.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/split/kept_part.hpp"
#include "slip/types.hpp"

namespace slip::splitting {

/// One matrix of the integer model (DECO-1): m x n, rank(A B) <= k.
struct IntegerMatrix {
    std::size_t m = 0;
    std::size_t n = 0;
    std::size_t rank = 0;
    std::vector<std::int8_t> residual;  // W_D, m x n
    std::vector<std::int16_t> a;        // A without the exponents of its rows, m x k
    std::vector<std::int8_t> exponent;  // e, m
    std::vector<std::int16_t> b;        // B, k x n
    std::vector<float> row_scale;       // delta, m

    artifact::LeftFactor left_factor() const { return {{a.data(), m, rank}, exponent}; }
};

/// How Charlie's part of a matrix is found. `random` is for the strategies that choose at random.
struct Method {
    Strategy strategy = Strategy::lsc;
    ByteSource random;
    /// B_w of lattice masks (PARAM-5), which no row of W_D exceeds in 2-norm.
    double weight_norm = std::numeric_limits<double>::infinity();
};

/// DECO-3 and DECO-4 for given terms, with rows of W_D of at most `weight_norm`. `name` is for
/// error messages; the result is the same for every number of threads. Throws BadInput if ENC-5
/// fails at the least activation norm.
IntegerMatrix encode(base::MatrixView<const float> w, const Components& part,
                     const std::string& name, std::size_t threads = 1,
                     double weight_norm = std::numeric_limits<double>::infinity());

/// DECO-2 to DECO-4 and DECO-8: encodes what the method keeps for a k <= largest_rank (the caller
/// cuts it and says so). Throws BadInput as encode does, and if W is not finite (DECO-5).
IntegerMatrix decompose(base::MatrixView<const float> w, std::size_t k, const std::string& name,
                        const Method& method = {}, std::size_t threads = 1);

/// To the nearest integer, ties to even (CONV-3): the rounding mode that every program starts with.
double round_half_even(double x);
/// DECO-3: g_i of a row of R: its largest magnitude, or with a finite `weight_norm`
/// 127 ||R[i]|| / (weight_norm - (sqrt(n) + 1) / 2) if that is more.
double largest_of_residual(std::span<const double> residual, double weight_norm);
/// DECO-3, DECO-4: delta_i from g_i, max_c |u_c[i] s_c beta_c| and sum_j |W[i][j]|.
float row_scale(double largest_residual, double largest_factor_of_row, double row_norm);

/// ENC-5.
bool fits_64_bits(const IntegerMatrix& matrix, std::int32_t activation_norm);

}  // namespace slip::splitting
