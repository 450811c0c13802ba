#include "optimized/artifact/integer_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::artifact {
namespace {

namespace parameters = base::parameters;
using base::MatrixView;

__extension__ using Int128 = __int128;

}  // namespace

bool is_valid_row(std::span<const std::int16_t> significands, std::int8_t exponent) {
    int largest = 0;
    for (const int a : significands) largest = std::max(largest, std::abs(a));
    if (largest > parameters::largest_factor) return false;
    if (exponent < 0 || exponent > int{parameters::largest_row_exponent}) return false;
    return exponent == 0 || 2 * largest > parameters::largest_factor;  // 2^(e - 1) is too small
}

std::uint64_t rounded_up_root(std::uint64_t squares) {
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(squares)));
    while (root * root < squares) ++root;
    while (root > 0 && (root - 1) * (root - 1) >= squares) --root;
    return root;
}

std::uint64_t largest_norm(MatrixView<const std::int8_t> rows) {
    std::uint64_t largest = 0;  // below 2^34, for n <= 2^20
    for (std::size_t i = 0; i < rows.rows(); ++i) {
        std::uint64_t squares = 0;
        for (const std::int8_t weight : rows.row(i)) {
            squares += static_cast<std::uint64_t>(std::int32_t{weight} * weight);
        }
        largest = std::max(largest, squares);
    }
    return rounded_up_root(largest);
}

std::int32_t activation_norm(std::uint64_t largest_norm, std::size_t planes) {
    constexpr std::uint64_t widest = parameters::largest_activation_norm;
    if (largest_norm == 0) return widest;
    return static_cast<std::int32_t>(std::min(widest, largest_product(planes) / largest_norm));
}

bool within_lattice_bounds(const parameters::LatticeParameters& lattice, std::uint64_t largest_norm,
                           std::int32_t activation_norm) {
    return largest_norm <= static_cast<std::uint64_t>(lattice.weight_norm) &&
           activation_norm <= lattice.activation_norm;
}

std::vector<std::int64_t> integer_weights(MatrixView<const std::int8_t> residual,
                                          const LeftFactor& a, MatrixView<const std::int16_t> b) {
    const std::size_t m = residual.rows();
    const std::size_t n = residual.cols();
    base::require(a.significands.rows() == m && a.exponents.size() == m && b.cols() == n &&
                      a.significands.cols() == b.rows(),
                  "integer_weights: the shapes do not match");
    std::vector<std::int64_t> weights(m * n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            Int128 sum = Int128{residual.row(i)[j]} << parameters::residual_shift;  // DECO-1
            for (std::size_t c = 0; c < b.rows(); ++c) sum += Int128{a(i, c)} * b.row(c)[j];
            weights[i * n + j] = static_cast<std::int64_t>(sum);
        }
    }
    return weights;
}

}  // namespace slip::artifact
