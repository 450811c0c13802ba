// The integers Z, with vectors and matrices of them. Nothing here knows of a modulus.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "reference/error.hpp"

namespace slip::reference {

/// An integer of any size.
using Integer = boost::multiprecision::cpp_int;

/// A fraction of integers, exact.
using Rational = boost::multiprecision::cpp_rational;

/// A column vector over Z.
using Vector = std::vector<Integer>;

/// An m x n matrix over Z. A matrix may have no rows or no columns (rank 0 factors), and
/// then still has a shape.
class Matrix {
public:
    Matrix() = default;

    /// The zero matrix of the given shape.
    Matrix(std::size_t rows, std::size_t cols)
        : rows_(rows), cols_(cols), entries_(rows * cols, Integer(0)) {}

    /// The matrix written row by row: Matrix{{1, 2}, {3, 4}}. Error: rows of unequal length.
    Matrix(std::initializer_list<std::initializer_list<Integer>> rows)
        : Matrix(rows.size(), rows.size() == 0 ? 0 : rows.begin()->size()) {
        std::size_t i = 0;
        for (const auto& row : rows) {
            require(row.size() == cols_, "every row of a matrix has the same length");
            std::size_t j = 0;
            for (const Integer& entry : row) (*this)(i, j++) = entry;
            ++i;
        }
    }

    /// The rows x columns.size() matrix with the given columns. Error: a column of another length.
    static Matrix from_columns(std::size_t rows, const std::vector<Vector>& columns) {
        Matrix result(rows, columns.size());
        for (std::size_t j = 0; j < columns.size(); ++j) {
            require(columns[j].size() == rows, "every column of a matrix has the same length");
            for (std::size_t i = 0; i < rows; ++i) result(i, j) = columns[j][i];
        }
        return result;
    }

    std::size_t rows() const { return rows_; }
    std::size_t cols() const { return cols_; }

    Integer& operator()(std::size_t i, std::size_t j) { return entries_[position(i, j)]; }
    const Integer& operator()(std::size_t i, std::size_t j) const {
        return entries_[position(i, j)];
    }

    /// Column j, a vector of length rows().
    Vector column(std::size_t j) const {
        Vector result(rows_);
        for (std::size_t i = 0; i < rows_; ++i) result[i] = (*this)(i, j);
        return result;
    }

    Matrix transpose() const {
        Matrix result(cols_, rows_);
        for (std::size_t i = 0; i < rows_; ++i) {
            for (std::size_t j = 0; j < cols_; ++j) result(j, i) = (*this)(i, j);
        }
        return result;
    }

    friend bool operator==(const Matrix&, const Matrix&) = default;

    /// P = X Y over Z: (m x k) (k x n) -> m x n. Error: inner dimensions differ.
    friend Matrix operator*(const Matrix& X, const Matrix& Y) {
        require(X.cols() == Y.rows(),
                "a product needs as many columns on the left as rows on the right");
        Matrix P(X.rows(), Y.cols());
        for (std::size_t i = 0; i < X.rows(); ++i) {
            for (std::size_t j = 0; j < Y.cols(); ++j) {
                for (std::size_t l = 0; l < X.cols(); ++l) P(i, j) += X(i, l) * Y(l, j);
            }
        }
        return P;
    }

    /// y = W x over Z: (m x n) (n) -> m. Error: lengths differ.
    friend Vector operator*(const Matrix& W, const Vector& x) {
        require(W.cols() == x.size(),
                "a matrix multiplies a vector of as many entries as it has columns");
        Vector y(W.rows(), Integer(0));
        for (std::size_t i = 0; i < W.rows(); ++i) {
            for (std::size_t j = 0; j < W.cols(); ++j) y[i] += W(i, j) * x[j];
        }
        return y;
    }

    /// The scalar multiple a X.
    friend Matrix operator*(const Integer& a, Matrix X) {
        for (std::size_t i = 0; i < X.rows(); ++i) {
            for (std::size_t j = 0; j < X.cols(); ++j) X(i, j) *= a;
        }
        return X;
    }

    /// X + Y over Z. Error: shapes differ.
    friend Matrix operator+(Matrix X, const Matrix& Y) {
        require(X.rows() == Y.rows() && X.cols() == Y.cols(),
                "a sum needs two matrices of one shape");
        for (std::size_t i = 0; i < X.rows(); ++i) {
            for (std::size_t j = 0; j < X.cols(); ++j) X(i, j) += Y(i, j);
        }
        return X;
    }

    /// X - Y over Z. Error: shapes differ.
    friend Matrix operator-(Matrix X, const Matrix& Y) { return std::move(X) + Integer(-1) * Y; }

private:
    std::size_t position(std::size_t i, std::size_t j) const {
        require(i < rows_ && j < cols_, "a matrix index lies inside the matrix");
        return i * cols_ + j;
    }

    std::size_t rows_ = 0;
    std::size_t cols_ = 0;
    std::vector<Integer> entries_;
};

/// max_i sum_j |W(i, j)|: the largest L1 norm of a row; 0 for a matrix without entries.
/// It bounds a product: |(W q)_i| <= largest_row_norm(W) max_j |q_j|.
inline Integer largest_row_norm(const Matrix& W) {
    Integer largest = 0;
    for (std::size_t i = 0; i < W.rows(); ++i) {
        Integer norm = 0;
        for (std::size_t j = 0; j < W.cols(); ++j) norm += abs(W(i, j));
        if (norm > largest) largest = norm;
    }
    return largest;
}

/// max_i sum_j W(i, j)^2: the square of the largest 2-norm of a row; 0 without entries. By
/// Cauchy-Schwarz |(W q)_i|^2 <= largest_row_square(W) sum_j q_j^2.
inline Integer largest_row_square(const Matrix& W) {
    Integer largest = 0;
    for (std::size_t i = 0; i < W.rows(); ++i) {
        Integer square = 0;
        for (std::size_t j = 0; j < W.cols(); ++j) square += W(i, j) * W(i, j);
        if (square > largest) largest = square;
    }
    return largest;
}

}  // namespace slip::reference
