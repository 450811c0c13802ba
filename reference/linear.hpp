// One linear layer of the protocol: what David computes, and what Charlie adds to it.
#pragma once

#include <vector>

#include "reference/integer.hpp"
#include "reference/integer_model.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

/// LIN-1. David: y~ = W_D x~ mod L for each of the b columns of x~ (n x b, canonical); m x b.
/// Errors: shapes that do not fit, an entry of x~ outside 0..L-1.
Matrix davids_product(const Ring& ring, const Matrix& W_D, const Matrix& x_masked);

/// LIN-3. The stacked W_D of a group, (sum m_i) x n: the rows of the first member, then of the
/// second, and so on. Error: no member, members with unequal numbers of columns.
Matrix stack(const std::vector<Matrix>& members);

/// LIN-2. Charlie: y_int = 2^t y_D + A (B q) over Z, with y_D = lift(...) from unmasking; equal to
/// W_int q when y_D = W_D q. It needs O(k (m + n)) products. Error: shapes that do not fit.
Vector charlies_output(const Matrix& A, const Matrix& B, const Vector& q, const Vector& y_D);

/// DECO-7, LIN-2. The same in two's complement: z = B q, y_C = A z and 2^t y_D + y_C are all taken
/// mod 2^64, and the result is lifted. Equal to charlies_output whenever that fits int64 (ENC-5):
/// reduction mod 2^64 is a ring homomorphism, so that partial sums, and y_C itself, may wrap.
Vector charlies_output_64(const Matrix& A, const Matrix& B, const Vector& q, const Vector& y_D);

/// The unsplit computation: y_int = W_int q over Z.
Vector unsplit_output(const IntegerModel& model, const Vector& q);

}  // namespace slip::reference
