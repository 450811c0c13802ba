// What the families share: the cache of keys and values, and one call's way through the blocks.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/graph/engine.hpp"

namespace slip {

/// Keys and values of one sequence, and the room in which its next tokens are computed: after the
/// first call no memory is reserved but the cache's own growth.
class KvCache {
public:
    explicit KvCache(const ModelConfig& config);
    /// Positions that are filled.
    std::size_t length() const { return length_; }
    void clear() { length_ = 0; }
    /// Whether the cache has room for sequences of a model with these dimensions.
    bool fits(const ModelConfig& config) const;

private:
    friend class Pass;
    std::size_t length_ = 0;
    std::size_t width_ = 0;                 // num_key_value_heads * head_dim
    std::vector<std::vector<float>> keys_;  // a block; grows by positions
    std::vector<std::vector<float>> values_;

    /// The storage behind the views of a pass.
    struct Workspace {
        std::vector<float> stream, normed, branch, query, key, value, mixed, inner, scratch, scores;
    };
    Workspace work_;
};

/// Some tokens' way through the model: their activations, a token a row, and the operations that
/// do not depend on the family. The tokens stand at the cache's next positions; commit() makes them
/// part of the sequence, so a pass that throws leaves the sequence as it was.
class Pass {
public:
    /// All four outlive the pass.
    Pass(const ModelConfig& config, Engine& engine, KvCache& cache, std::size_t tokens);

    /// Engine::apply(). The graph's only way to multiply by a weight matrix (MODEL-1).
    void apply(GroupId group, MatrixView<const float> input,
               std::initializer_list<MatrixView<float>> outputs);

    /// Causal attention of `query` over the cached positions and the pass's own, into `mixed`:
    /// softmax(q K^T / sqrt(head_dim)) V, head by head. Query head h reads key head h / (query
    /// heads / key heads). `key` and `value` are appended to the block's cache.
    void attend(std::size_t block);

    /// The room for tokens x `width` more elements; one at a time.
    MatrixView<float> scratch(std::size_t width);

    void commit() { cache_.length_ += tokens_; }

    std::size_t tokens() const { return tokens_; }
    /// The position of the first token.
    std::size_t first_position() const { return cache_.length_; }

    MatrixView<float> stream;  // hidden_size: the residual stream
    MatrixView<float> normed;  // hidden_size
    MatrixView<float> branch;  // hidden_size: what is added to the stream
    MatrixView<float> query;   // num_attention_heads * head_dim
    MatrixView<float> key;     // num_key_value_heads * head_dim
    MatrixView<float> value;   // num_key_value_heads * head_dim
    MatrixView<float> mixed;   // num_attention_heads * head_dim: attention's output
    MatrixView<float> inner;   // intermediate_size

private:
    void store_keys_and_values(std::size_t block);
    void attend_one(std::size_t block, std::size_t token);

    const ModelConfig& config_;
    Engine& engine_;
    KvCache& cache_;
    std::size_t tokens_;
};

}  // namespace slip
