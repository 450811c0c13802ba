// Singular components of a weight matrix: spec/decomposition.md, DECO-2.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/base/matrix_view.hpp"

namespace slip::splitting {

/// k terms of rank one, W_C = sum_c sigma_c u_c v_c^T. For singular components sigma falls and the
/// vectors are orthonormal; a component whose sigma is 0 may have any u_c.
struct Components {
    std::vector<double> u;      // m x k
    std::vector<double> sigma;  // k
    std::vector<double> v;      // k x n
};

/// The iteration ends when one more block of vectors adds less than this, in squared singular
/// values and relative to sigma_{k+1}^2.
inline constexpr double iteration_tolerance = 1e-7;
/// What the tests hold the result to: ||W - W_C||^2 <= (1 + approximation_slack) times the least
/// that rank k allows, in the spectral and in the Frobenius norm, but for rounding.
inline constexpr double approximation_slack = 1e-5;

/// The k largest singular components of W, k <= min(m, n). The same bits for every number of
/// threads; for the same bits on another machine nothing is promised. Few components of a large
/// matrix are found iteratively, otherwise all of them are.
Components top_singular_components(base::MatrixView<const float> w, std::size_t k,
                                   std::size_t threads = 1);

/// The components with these numbers, counted from 0 by falling singular value; each is below
/// min(m, n) and above the one before it. Always finds all components.
Components singular_components(base::MatrixView<const float> w,
                               const std::vector<std::size_t>& numbers, std::size_t threads = 1);

/// The squares of all min(m, n) singular values, falling. Those below about 10^-15 of the largest
/// are rounding.
std::vector<double> squared_singular_values(base::MatrixView<const float> w,
                                            std::size_t threads = 1);

}  // namespace slip::splitting
