#include "optimized/graph/batch.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"

namespace slip::graph {

std::size_t BatchEntry::logits_rows() const {
    switch (logits) {
        case Logits::none:
            return 0;
        case Logits::last_position:
            return 1;
        case Logits::every_position:
            return ids.size();
    }
    throw InternalError("BatchEntry: unknown kind of logits");
}

Workspace::Workspace(std::size_t threads)
    : threads_(threads),
      team_(threads > 1 ? std::make_unique<base::WorkerTeam>(threads) : nullptr) {
    base::require(threads > 0, "Workspace: at least one thread");
}

std::size_t Workspace::bytes() const {
    std::size_t floats = 0;
    for (const std::vector<float>* storage :
         {&stream_, &normed_, &branch_, &query_, &key_, &value_, &mixed_, &inner_, &scratch_,
          &turns_, &window_turns_, &mixtures_, &head_outputs_, &scores_}) {
        floats += storage->capacity();
    }
    return floats * sizeof(float) + ids_.capacity() * sizeof(TokenId) +
           positions_.capacity() * sizeof(std::size_t) + row_blocks_.capacity() * sizeof(RowBlock) +
           longer_.capacity() / 8;
}

namespace {

/// Floats of `scratch` and of the paper's mixtures, per token.
std::size_t further_floats(const base::ModelConfig& config) {
    const bool paper = config.attention == Attention::paper;
    const std::size_t sharing = config.num_attention_heads / config.num_key_value_heads;
    const std::size_t mixtures = paper ? sharing * (config.hidden_size + config.head_dim) : 0;
    switch (config.family) {
        case base::Family::llama:
            return mixtures + config.intermediate_size;
        case base::Family::gpt2:
            return mixtures + (paper ? 0 : 3 * config.hidden_size);
        case base::Family::phi:
            return mixtures;
    }
    throw InternalError("Workspace: unknown family");
}

}  // namespace

std::size_t Workspace::bytes_for(const base::ModelConfig& config, std::size_t tokens,
                                 std::size_t threads) {
    const std::size_t of_token = 3 * config.hidden_size + 2 * config.query_width() +
                                 2 * config.key_value_width() + config.intermediate_size +
                                 config.rotary_dim * (config.window_rope ? 2 : 1) +
                                 further_floats(config);
    const std::size_t sharing = config.num_attention_heads / config.num_key_value_heads;
    const std::size_t together = std::max<std::size_t>(1, attention_rows / sharing);
    const std::size_t scores = threads * attention_rows * config.max_position_embeddings;
    return (tokens * of_token + scores) * sizeof(float) +
           tokens * (sizeof(TokenId) + sizeof(std::size_t)) +
           (tokens + together - 1) / together * sizeof(RowBlock) +
           (longrope(config) ? (tokens + 7) / 8 : 0);
}

}  // namespace slip::graph
