// A row-major matrix that somebody else owns.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "optimized/base/error.hpp"

namespace slip::base {

/// `rows` x `cols` elements, row-major, without gaps. The b columns of X (CONV-1) are its rows: b x
/// n, so that they lie one after the other in memory.
template <class T>
class MatrixView {
public:
    MatrixView() = default;
    MatrixView(T* data, std::size_t rows, std::size_t cols)
        : data_(data), rows_(rows), cols_(cols) {}

    /// A view of mutable elements is also a view of constant ones.
    template <class U>
    requires std::is_same_v<const U, T> MatrixView(
        MatrixView<U> other)  // NOLINT(google-explicit-constructor): widening is safe
        : data_(other.data()), rows_(other.rows()), cols_(other.cols()) {}

    T* data() const { return data_; }
    std::size_t rows() const { return rows_; }
    std::size_t cols() const { return cols_; }
    std::size_t size() const { return rows_ * cols_; }

    std::span<T> row(std::size_t i) const { return {data_ + i * cols_, cols_}; }
    std::span<T> elements() const { return {data_, size()}; }

    /// Rows first, ..., first + count - 1.
    MatrixView rows_from(std::size_t first, std::size_t count) const {
        require(first + count <= rows_, "MatrixView::rows_from: range outside the matrix");
        return {data_ + first * cols_, count, cols_};
    }

private:
    T* data_ = nullptr;
    std::size_t rows_ = 0;
    std::size_t cols_ = 0;
};

}  // namespace slip::base
