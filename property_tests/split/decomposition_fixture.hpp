// What the tests of decompositions share: random matrices, and both implementations' results in the
// types of either.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "optimized/split/decomposition.hpp"
#include "property_tests/generators/left_factor.hpp"
#include "reference/decomposition.hpp"
#include "reference/factorizations.hpp"
#include "reference/integer_model.hpp"

namespace slip::testing {

using Eigen::Index;
using Sizes = std::initializer_list<std::size_t>;

/// A float matrix with its shape.
struct Weights {
    std::size_t m = 0;
    std::size_t n = 0;
    std::vector<float> values;

    base::MatrixView<const float> view() const { return {values.data(), m, n}; }
    Eigen::MatrixXd real() const {
        Eigen::MatrixXd W(static_cast<Index>(m), static_cast<Index>(n));
        for (std::size_t i = 0; i < m * n; ++i) {
            W(static_cast<Index>(i / n), static_cast<Index>(i % n)) =
                static_cast<double>(values[i]);
        }
        return W;
    }
};

inline Weights random_weights(std::size_t m, std::size_t n, std::mt19937_64& random,
                              float scale = 0.1f) {
    std::normal_distribution<float> normal(0.0f, scale);
    Weights weights{m, n, std::vector<float>(m * n)};
    for (float& value : weights.values) value = normal(random);
    return weights;
}

/// A matrix of rank at most `rank`, up to the rounding of its entries to float.
inline Weights low_rank_weights(std::size_t m, std::size_t n, std::size_t rank,
                                std::mt19937_64& random) {
    const Weights left = random_weights(m, rank, random, 1.0f);
    const Weights right = random_weights(rank, n, random, 1.0f);
    Weights product{m, n, std::vector<float>(m * n, 0.0f)};
    for (std::size_t i = 0; i < m * n; ++i) {
        for (std::size_t c = 0; c < rank; ++c) {
            product.values[i] += left.values[i / n * rank + c] * right.values[c * n + i % n];
        }
    }
    return product;
}

inline reference::SingularComponents to_reference(const splitting::Components& top, std::size_t m,
                                                  std::size_t n) {
    const auto k = static_cast<Index>(top.sigma.size());
    reference::SingularComponents result{Eigen::MatrixXd(static_cast<Index>(m), k),
                                         Eigen::VectorXd(k),
                                         Eigen::MatrixXd(static_cast<Index>(n), k)};
    for (Index c = 0; c < k; ++c) {
        const auto component = static_cast<std::size_t>(c);
        result.s(c) = top.sigma[component];
        for (std::size_t i = 0; i < m; ++i) {
            result.U(static_cast<Index>(i), c) = top.u[i * top.sigma.size() + component];
        }
        for (std::size_t j = 0; j < n; ++j) {
            result.V(static_cast<Index>(j), c) = top.v[component * n + j];
        }
    }
    return result;
}

template <class T>
reference::Matrix to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    reference::Matrix result(rows, cols);
    for (std::size_t i = 0; i < rows * cols; ++i) result(i / cols, i % cols) = values[i];
    return result;
}

inline reference::IntegerModel to_reference(const splitting::IntegerMatrix& matrix) {
    return {matrix_of(matrix.left_factor()), to_matrix(matrix.b, matrix.rank, matrix.n),
            to_matrix(matrix.residual, matrix.m, matrix.n), matrix.row_scale};
}

inline std::vector<std::int64_t> integer_weights(const splitting::IntegerMatrix& matrix) {
    return artifact::integer_weights({matrix.residual.data(), matrix.m, matrix.n},
                                     matrix.left_factor(),
                                     {matrix.b.data(), matrix.rank, matrix.n});
}

/// diag(delta) W_int - W.
inline Eigen::MatrixXd error_of(const splitting::IntegerMatrix& matrix, const Weights& weights) {
    const std::vector<std::int64_t> integers = integer_weights(matrix);
    Eigen::MatrixXd error = weights.real();
    for (std::size_t i = 0; i < integers.size(); ++i) {
        error(static_cast<Index>(i / matrix.n), static_cast<Index>(i % matrix.n)) -=
            static_cast<double>(integers[i]) * static_cast<double>(matrix.row_scale[i / matrix.n]);
    }
    return -error;
}

/// What rounding may add to an entry of row i: half a step of W_D, and |A B - a b| <= (|A| +
/// 2^e |b|) / 2 a component, for a = A and b = B before rounding.
inline double rounding_of_row(const splitting::IntegerMatrix& matrix, std::size_t i) {
    const artifact::LeftFactor a = matrix.left_factor();
    double factors = 0;
    for (std::size_t c = 0; c < matrix.rank; ++c) factors += std::abs(a(i, c));
    factors += std::ldexp(2047.5, matrix.exponent[i]) * static_cast<double>(matrix.rank);
    return static_cast<double>(matrix.row_scale[i]) * (0x1p15 + factors / 2) * (1 + 1e-6);
}

inline double spectral_norm(const Eigen::MatrixXd& matrix) {
    return reference::singular_values(matrix)(0);
}

/// The widths of PARAM-2, and what every other test relies on.
inline void expect_valid(const splitting::IntegerMatrix& matrix) {
    const reference::IntegerModel model = to_reference(matrix);
    EXPECT_NO_THROW(reference::require_valid(model));
    for (std::size_t i = 0; i < matrix.m; ++i) {
        EXPECT_EQ(static_cast<unsigned>(matrix.exponent[i]), reference::row_exponent(model.A, i));
        EXPECT_TRUE(
            artifact::is_valid_row(matrix.left_factor().significands.row(i), matrix.exponent[i]));
    }
    for (const float scale : matrix.row_scale) {
        EXPECT_GE(scale, FLT_MIN);
        EXPECT_TRUE(std::isfinite(scale));
    }
    EXPECT_TRUE(splitting::fits_64_bits(matrix, 127));
}

}  // namespace slip::testing
