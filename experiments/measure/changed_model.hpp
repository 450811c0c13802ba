// A checkpoint whose weights can be changed before it reads a text.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/checkpoint.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::measure {

/// One matrix of a block.
struct Matrix {
    std::string tensor;  // without ".weight"
    std::string type;    // as the figures name it: q, k, v, o, gate, up, down; else as plans do
    std::size_t block = 0;
    std::size_t m = 0;
    std::size_t n = 0;
};

class ChangedModel {
public:
    /// Changes the values of the tensor `name` in place.
    using Change = std::function<void(std::string_view name, std::vector<float>& values)>;

    /// Throws BadInput, naming the file, if it is no checkpoint of a language model.
    explicit ChangedModel(const std::filesystem::path& folder);

    std::size_t blocks() const;
    /// The longest text that it reads at once, in tokens.
    std::size_t context() const;
    /// The blocks' matrices, in the model's order; a tensor counts once.
    const std::vector<Matrix>& matrices() const { return matrices_; }
    /// The layer types, each once, in the order of a block.
    std::vector<std::string> layer_types() const;
    /// m x n, row-major.
    std::vector<float> values(const Matrix& matrix) const;

    /// The first `most` ids of a text. Throws BadInput if the model has no tokenizer, or the text
    /// fewer tokens.
    std::vector<TokenId> read(const std::filesystem::path& text, std::size_t most) const;
    /// Perplexity of `ids`, in windows of the context that do not overlap (MODEL-12), with the
    /// weights as `change` leaves them, in float32.
    double perplexity(const std::vector<TokenId>& ids, const Change& change = {}) const;

    /// How results describe it.
    nlohmann::ordered_json label() const;

private:
    importing::Checkpoint checkpoint_;
    std::vector<base::GroupShape> groups_;
    std::vector<Matrix> matrices_;
};

}  // namespace slip::measure
