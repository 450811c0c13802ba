// The KV cache: what a model keeps of the tokens of one sequence.
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::graph {

/// Keys and values of one sequence, block by block, and nothing else: weights belong to the model,
/// activations to the Workspace of whoever runs batches. In the paper's order of attention the
/// inputs X of the blocks take the place of the values (ATTN-1).
class KvCache {
public:
    explicit KvCache(const base::ModelConfig& config);
    /// Positions that are filled.
    std::size_t length() const { return length_; }
    /// Forgets all positions but the first `length`, which are filled.
    void truncate(std::size_t length) {
        base::require(length <= length_, "KvCache::truncate: fewer positions are filled");
        length_ = length;
    }
    /// Reserves memory for so many positions; up to there the sequence then grows without
    /// reserving any. A position takes num_hidden_layers * (key width + value width) floats, where
    /// both widths are num_key_value_heads * head_dim, but a value is hidden_size wide in the
    /// paper's order. A sequence that outgrows its room doubles it.
    void reserve(std::size_t positions);
    /// Whether the cache has room for sequences of a model with these dimensions.
    bool fits(const base::ModelConfig& config) const;

    /// Writes one row a position, after the last filled one. What is written is part of the
    /// sequence when every block has it and extend() says so; until then it can be written again.
    void write(std::size_t block, base::MatrixView<const float> keys,
               base::MatrixView<const float> values);
    /// The first `positions` rows of a block, written but perhaps not filled yet.
    base::MatrixView<const float> keys(std::size_t block, std::size_t positions) const;
    base::MatrixView<const float> values(std::size_t block, std::size_t positions) const;
    /// So many positions more are filled.
    void extend(std::size_t positions) { length_ += positions; }

private:
    /// One block's rows; never shrinks.
    struct Rows {
        std::size_t width;
        std::vector<float> elements;

        void write(std::size_t first, base::MatrixView<const float> rows);
        base::MatrixView<const float> first(std::size_t rows) const;
    };
    struct Block {
        Rows keys;
        Rows values;
    };

    std::size_t length_ = 0;
    std::size_t key_width_;
    std::size_t value_width_;
    std::vector<Block> blocks_;
};

}  // namespace slip::graph
