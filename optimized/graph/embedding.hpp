// The token embedding: a table with one row per token id.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "slip/types.hpp"

namespace slip::graph {

/// Finds a float tensor of the given number of elements by its checkpoint name, or throws BadInput.
using ParameterLookup =
    std::function<std::vector<float>(std::string_view name, std::size_t elements)>;
/// Finds row `row` < `rows` of a float matrix of `rows` rows of as many elements as `values` has,
/// or throws BadInput.
using RowLookup = std::function<void(std::string_view name, std::size_t rows, std::size_t row,
                                     std::span<float> values)>;

class Embedding {
public:
    /// The matrix `name`, rows x width. With `find`, which must outlive the object, rows are read
    /// one by one from where the matrix is stored; without it the object keeps the matrix in
    /// float32.
    Embedding(std::string name, std::size_t rows, std::size_t width,
              const ParameterLookup& parameters, RowLookup find);

    /// Copies row ids[t] of the table to row t of `rows`. Requires: every id is below the number of
    /// rows of the table.
    void look_up(std::span<const TokenId> ids, base::MatrixView<float> rows) const;

private:
    std::string name_;
    std::size_t rows_;
    RowLookup find_;
    std::vector<float> table_;  // empty if find_ is set
};

}  // namespace slip::graph
