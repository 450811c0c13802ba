// The integer model of one weight matrix: the paper's W = W^C + W^D (Section
// `sec:layerwise-decomp`) for a model that is quantised to integers.
#pragma once

#include <vector>

#include "reference/integer.hpp"

namespace slip::reference {

/// W (m x n, real) is approximately diag(row_scale) W_int, with W_int = 2^t W_D + A B over Z.
/// Charlie keeps A, B and row_scale; David gets W_D.
struct IntegerModel {
    Matrix A;                      ///< m x k, A(i, c) = 2^e_i a, |a| <= 2047, 0 <= e_i <= 20
    Matrix B;                      ///< k x n, |B(c, j)| <= 2047
    Matrix W_D;                    ///< m x n, |W_D(i, j)| <= 127
    std::vector<float> row_scale;  ///< m, positive

    std::size_t rank() const { return B.rows(); }  ///< k; W_C := A B has rank at most k

    friend bool operator==(const IntegerModel&, const IntegerModel&) = default;
};

/// PARAM-2. The exponent of row i of A: the least e >= 0 with max_c |A(i, c)| <= 2047 * 2^e.
unsigned row_exponent(const Matrix& A, std::size_t i);

/// Error: shapes that do not fit together, an entry outside PARAM-2, or a row of A whose exponent
/// e is above 20 or whose entries are not all multiples of 2^e.
void require_valid(const IntegerModel& model);

/// DECO-1. W_C := A B over Z: the sensitive part, of rank at most k.
Matrix charlies_weights(const IntegerModel& model);

/// DECO-1. W_int = 2^t W_D + A B, exactly over Z.
Matrix integer_weights(const IntegerModel& model);

}  // namespace slip::reference
