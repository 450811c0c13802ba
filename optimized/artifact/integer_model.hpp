// What the integers of an artifact of the paper's split mean: W_int = 2^t W_D + A B, and the bounds
// under which its products are exact. spec/decomposition.md, DECO-1, and spec/encoding.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::artifact {

/// A as it is stored (PARAM-2): A[i][c] = 2^exponents[i] significands[i][c], m x k, with
/// |significands| <= 2047 and 0 <= exponents <= 20, each the least with which its row fits.
struct LeftFactor {
    base::MatrixView<const std::int16_t> significands;  // m x k
    std::span<const std::int8_t> exponents;             // m

    std::int32_t operator()(std::size_t i, std::size_t c) const {
        return significands.row(i)[c] * (std::int32_t{1} << exponents[i]);
    }
};

/// PARAM-2: 0 <= e <= 20, |a| <= 2047 for every a of the row, and no smaller exponent would do.
bool is_valid_row(std::span<const std::int16_t> significands, std::int8_t exponent);

/// ENC-4: (L - 1) / 2, the greatest absolute value of a product that unmasking recovers.
constexpr std::uint64_t largest_product(std::size_t planes) {
    return (base::parameters::modulus(planes) - 1) / 2;
}
/// The least integer whose square is at least `squares`, which is below 2^52.
std::uint64_t rounded_up_root(std::uint64_t squares);
/// ENC-3: B_w of some rows of W_D, the least integer that no row's 2-norm exceeds.
std::uint64_t largest_norm(base::MatrixView<const std::int8_t> rows);
/// ENC-3: B_q of a group with this B_w; not yet compared with smallest_activation_norm.
std::int32_t activation_norm(std::uint64_t largest_norm, std::size_t planes);
/// ENC-4: whether products stay exact under lattice masks, where a group's longest row has this
/// B_w and its activations this norm. PARAM-5 has the condition.
bool within_lattice_bounds(const base::parameters::LatticeParameters& lattice,
                           std::uint64_t largest_norm, std::int32_t activation_norm);
/// W_int, m x n, for oracles and tests. Exact: ENC-5 was checked when the matrix was made.
std::vector<std::int64_t> integer_weights(base::MatrixView<const std::int8_t> residual,
                                          const LeftFactor& a,
                                          base::MatrixView<const std::int16_t> b);

}  // namespace slip::artifact
