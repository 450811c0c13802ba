// What the integers of an artifact mean: W_int = 2^t W_D + A B, and the bounds under which its
// products are exact. spec/decomposition.md, DECO-1, and spec/encoding.md.
#pragma once

#include <cstdint>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "slip/types.hpp"

namespace slip::artifact {

/// ENC-4: (L - 1) / 2, the greatest absolute value of a product that unmasking recovers.
std::uint64_t largest_product(Profile profile);
/// ENC-3 for the members of a group; not yet checked against 127.
std::int32_t largest_activation(Profile profile, std::uint64_t largest_row_norm);
/// W_int, m x n, for oracles and tests. Exact: ENC-5 was checked when the matrix was made.
std::vector<std::int64_t> integer_weights(base::MatrixView<const std::int8_t> residual,
                                          base::MatrixView<const std::int32_t> a,
                                          base::MatrixView<const std::int16_t> b);

}  // namespace slip::artifact
