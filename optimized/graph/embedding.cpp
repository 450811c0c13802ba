#include "optimized/graph/embedding.hpp"

#include <algorithm>
#include <utility>

namespace slip::graph {

// All rows are read in either case, so that a bad value is reported when the model is opened and
// not at the first token that uses it.
Embedding::Embedding(std::string name, std::size_t rows, std::size_t width,
                     const ParameterLookup& parameters, RowLookup find)
    : name_(std::move(name)), rows_(rows), find_(std::move(find)) {
    if (!find_) {
        table_ = parameters(name_, rows * width);
        return;
    }
    std::vector<float> values(width);
    for (std::size_t row = 0; row < rows; ++row) find_(name_, rows, row, values);
}

void Embedding::look_up(std::span<const TokenId> ids, base::MatrixView<float> rows) const {
    const std::size_t width = rows.cols();
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const auto row = static_cast<std::size_t>(ids[t]);
        if (find_) {
            find_(name_, rows_, row, rows.row(t));
        } else {
            std::copy_n(table_.data() + row * width, width, rows.row(t).data());
        }
    }
}

}  // namespace slip::graph
