// The table of which every token is a row.
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
/// Finds one row of a matrix that ParameterLookup has found before: as many elements as `values`
/// has.
using RowLookup =
    std::function<void(std::string_view name, std::size_t row, std::span<float> values)>;

class Embedding {
public:
    /// The matrix `name`, rows x width. Where rows can be found one by one, `find` outlives the
    /// object's use and the table stays where it is; otherwise it is kept in float32.
    Embedding(std::string name, std::size_t rows, std::size_t width,
              const ParameterLookup& parameters, RowLookup find);

    /// Copies row ids[t] of the table to row t of `rows`. Requires: ids of the table.
    void look_up(std::span<const TokenId> ids, base::MatrixView<float> rows) const;

private:
    std::string name_;
    RowLookup find_;
    std::vector<float> table_;  // empty if rows can be found
};

}  // namespace slip::graph
