// Matrices that are the same in each run.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <random>

#include "reference/integer.hpp"

namespace slip::reference {

using Eigen::Index;
using Eigen::MatrixXd;

/// A matrix with entries uniform in [-1, 1], the same in each run.
inline MatrixXd random_real(Index m, Index n, unsigned seed) {
    std::mt19937 generator(seed);
    MatrixXd W(m, n);
    for (double& entry : W.reshaped()) {
        entry = static_cast<double>(generator()) / 2147483648.0 - 1.0;
    }
    return W;
}

/// Integers uniform in [-bound, bound], the same in each run.
inline Matrix random_integers(std::size_t m, std::size_t n, int bound, unsigned seed) {
    std::mt19937 generator(seed);
    Matrix X(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            X(i, j) = static_cast<int>(generator() % static_cast<unsigned>(2 * bound + 1)) - bound;
        }
    }
    return X;
}

inline Matrix rounded(const MatrixXd& W) {
    Matrix X(static_cast<std::size_t>(W.rows()), static_cast<std::size_t>(W.cols()));
    for (Index i = 0; i < W.rows(); ++i) {
        for (Index j = 0; j < W.cols(); ++j) {
            X(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) = std::lround(W(i, j));
        }
    }
    return X;
}

}  // namespace slip::reference
