// What goes through a model at once: tokens of one or several sequences, and the room for their
// activations.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "optimized/base/worker_team.hpp"
#include "optimized/graph/attention.hpp"
#include "optimized/graph/kv_cache.hpp"
#include "slip/types.hpp"

namespace slip::graph {

/// The positions of a batch whose logits are wanted: none of a part of a prompt, the last of a
/// prompt or of a decoded token, every one of a text that is scored.
enum class Logits { none, last_position, every_position };

/// One sequence in a batch: its next tokens, a prompt or a part of one (prefill) or one token
/// (decode).
struct BatchEntry {
    KvCache& cache;
    std::span<const TokenId> ids;
    Logits logits;
    /// Tokens of the prompt that later calls append. With longrope the keys are those of the
    /// sequence with them, so that a prompt that is cut is what it would be at once (MODEL-14).
    std::size_t to_come = 0;

    /// Rows of logits that are wanted.
    std::size_t logits_rows() const;
};

/// The storage behind the activations of a batch. It belongs to whoever runs batches, one at a
/// time: a thread, a scheduler. It grows to its largest batch and then reserves no more. A batch of
/// T tokens takes
///
///     T * (3 * hidden_size + 2 * query_width + 2 * key_value_width + intermediate_size + scratch
///          + rotary_dim)
///         + threads * attention_rows * max_position_embeddings
///
/// floats, T times an id and a position, and a RowBlock for every attention_rows queries of a key
/// head in a sequence; `scratch` is intermediate_size in the LLaMA family, 3 * hidden_size in
/// GPT-2's, unless its c_attn is three matrices, and 0 in Phi-2's. In the paper's order of
/// attention `scratch` is 0 in GPT-2's too, and T
/// * (query heads / key-value heads) * (hidden_size + head_dim) floats are added. Where blocks with
/// a window have a RoPE of their own, T * rotary_dim are added, and with longrope T bits.
class Workspace {
public:
    /// `threads` share long attention, the caller's among them.
    explicit Workspace(std::size_t threads = 1);

    /// What is reserved.
    std::size_t bytes() const;
    /// What a batch of `tokens` tokens of one sequence takes, by the formula above.
    static std::size_t bytes_for(const base::ModelConfig& config, std::size_t tokens,
                                 std::size_t threads);

private:
    friend class Pass;
    // One element per token.
    std::vector<TokenId> ids_;
    std::vector<std::size_t> positions_;
    std::vector<RowBlock> row_blocks_;  // no more than there are tokens
    // One row per token.
    std::vector<float> stream_, normed_, branch_, query_, key_, value_, mixed_, inner_, scratch_,
        turns_, window_turns_;
    std::vector<bool> longer_;  // one per token with longrope; else none
    // One row per token and head that shares a value matrix.
    std::vector<float> mixtures_, head_outputs_;
    // attention_rows rows per thread, an element per position.
    std::vector<float> scores_;
    std::size_t threads_;
    std::unique_ptr<base::WorkerTeam> team_;  // null if there is one thread
};

}  // namespace slip::graph
