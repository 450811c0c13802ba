#include "optimized/graph/embedding.hpp"

#include <algorithm>
#include <utility>

namespace slip::graph {

// `parameters` checks the whole table in either case, so that a bad value is reported when the
// model is opened and not at the first token that uses it.
Embedding::Embedding(std::string name, std::size_t rows, std::size_t width,
                     const ParameterLookup& parameters, RowLookup find)
    : name_(std::move(name)), find_(std::move(find)), table_(parameters(name_, rows * width)) {
    if (!find_) return;
    std::vector<float>().swap(table_);
    std::vector<float> last(width);
    find_(name_, rows - 1, last);
}

void Embedding::look_up(std::span<const TokenId> ids, base::MatrixView<float> rows) const {
    const std::size_t width = rows.cols();
    for (std::size_t t = 0; t < ids.size(); ++t) {
        const auto row = static_cast<std::size_t>(ids[t]);
        if (find_) {
            find_(name_, row, rows.row(t));
        } else {
            std::copy_n(table_.data() + row * width, width, rows.row(t).data());
        }
    }
}

}  // namespace slip::graph
