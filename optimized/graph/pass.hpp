// What the families share: the groups of attention, and one batch's way through the blocks.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/engine.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/graph/batch.hpp"

namespace slip::graph {

/// The groups of one block, by what they are for. Those of attention come first: {q, k, v} and the
/// output projection; in the paper's order {q}, {k}, {v of key-value head 0}, ... and the output
/// projection. `others` more follow.
class BlockGroups {
public:
    BlockGroups(const base::ModelConfig& config, std::size_t block, std::size_t others)
        : of_attention_(config.attention == Attention::fused ? 2 : 3 + config.num_key_value_heads),
          first_(static_cast<base::GroupId>(block * (of_attention_ + others))) {}

    /// The group behind those of all blocks.
    static base::GroupId head(const base::ModelConfig& config, std::size_t others) {
        return BlockGroups(config, config.num_hidden_layers, others).first_;
    }
    base::GroupId query_key_value() const { return first_; }
    base::GroupId query() const { return first_; }
    base::GroupId key() const { return first_ + 1; }
    base::GroupId first_value() const { return first_ + 2; }
    base::GroupId output() const { return first_ + static_cast<base::GroupId>(of_attention_) - 1; }
    base::GroupId other(std::size_t i) const {
        return output() + 1 + static_cast<base::GroupId>(i);
    }

private:
    std::size_t of_attention_;
    base::GroupId first_;
};

/// ATTN-8: the matrices of attention in the paper's order, each a group of its own: q, k and the
/// value matrix of every key-value head. They are rows of the tensors named, from the rows given
/// on.
///
/// ATTN-3: each masked copy of the input is a column of a group, so it has a mask, a cancellation
/// and a check of its own.
struct AttentionTensors {
    std::string query, key, value;
    std::string query_type, key_type, value_type;  // as plans call them
    std::size_t query_row = 0, key_row = 0, value_row = 0;
    /// Rows of each tensor; 0 if the matrix is a tensor of its own.
    std::size_t tensor_rows = 0;
};
void append_two_round_groups(const base::ModelConfig& config, std::size_t block,
                             const AttentionTensors& tensors,
                             std::vector<base::GroupShape>& groups);

/// One batch's way through the model: the activations, one token per row, and the operations that
/// do not depend on the family. The rows are the entries' tokens, one entry after the other; a row
/// has the position and the cache of its own sequence, and no row reads another sequence's
/// (MODEL-3). The tokens stand at the caches' next positions; commit() makes them part of their
/// sequences, so a pass that throws leaves every sequence as it was.
class Pass {
public:
    /// All of them outlive the pass. No two entries have one cache.
    Pass(const base::ModelConfig& config, base::Engine& engine, Workspace& workspace,
         std::span<const BatchEntry> batch);

    /// Engine::apply(). The graph's only way to multiply by a weight matrix (MODEL-1).
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::initializer_list<base::MatrixView<float>> outputs);

    /// Causal attention of every row of `query` over the positions of its sequence up to its own,
    /// into `mixed`: softmax(q K^T / sqrt(head_dim)) V, head by head, with the block's window and
    /// the model's scale and cap of scores. Query head h reads key head h
    /// / (query heads / key heads). `key` and `value` are written to the caches first.
    void attend(std::size_t block);

    /// The same in the paper's order (ATTN-1): the softmax weights S mix the inputs `normed`, which
    /// are written to the caches instead of values, and each head's S X is multiplied by the value
    /// matrix of its key-value head, one of the groups from `first_value` on. S sums to one, so
    /// `value_bias` (num_key_value_heads * head_dim, or empty) is added afterwards.
    void attend_in_two_rounds(std::size_t block, base::GroupId first_value,
                              std::span<const float> value_bias);

    /// The room for tokens x `width` more elements; one at a time.
    base::MatrixView<float> scratch(std::size_t width);

    /// The rows of the stream whose logits are wanted, moved to its beginning.
    base::MatrixView<float> gather_wanted_rows();

    void commit();

    /// The token and the position of every row.
    std::span<const TokenId> ids() const { return workspace_.ids_; }
    std::span<const std::size_t> positions() const { return workspace_.positions_; }
    /// With longrope, whether each row's sequence is longer than the original context; else empty.
    const std::vector<bool>& longer() const { return workspace_.longer_; }

    base::MatrixView<float> stream;  // hidden_size: the residual stream
    base::MatrixView<float> normed;  // hidden_size
    base::MatrixView<float> branch;  // hidden_size: what is added to the stream
    base::MatrixView<float> query;   // num_attention_heads * head_dim
    base::MatrixView<float> key;     // num_key_value_heads * head_dim
    base::MatrixView<float> value;   // num_key_value_heads * head_dim
    base::MatrixView<float> mixed;   // num_attention_heads * head_dim: attention's output
    base::MatrixView<float> inner;   // intermediate_size
    base::MatrixView<float> turns;   // rotary_dim: RotaryEmbedding::write_turns()
    /// rotary_dim: those of blocks with a window, where they differ; else no elements.
    base::MatrixView<float> window_turns;

private:
    void place_rows();
    ScoreRule score_rule(std::size_t block) const;
    void write_to_caches(std::size_t block, base::MatrixView<const float> values);
    std::size_t sharing() const;
    std::size_t tokens_at_once() const;
    struct KeyHeads {
        std::size_t first;
        std::size_t count;
    };
    std::size_t multiplications_per_head(std::size_t width) const;
    template <class Output>
    void attend_heads(std::size_t block, KeyHeads key_heads, std::size_t width,
                      const Output& output);
    template <class Output>
    void attend_rows(std::size_t block, const RowBlock& rows, std::size_t key_head,
                     std::size_t first, std::size_t width, const Output& output,
                     base::MatrixView<float> scores) const;

    const base::ModelConfig& config_;
    base::Engine& engine_;
    Workspace& workspace_;
    std::span<const BatchEntry> batch_;
};

}  // namespace slip::graph
