// Causal attention, a few rows at a time, with the float kernels: scores, softmax, weighted sum.
#pragma once

#include <cstddef>
#include <span>

#include "optimized/graph/kv_cache.hpp"

namespace slip::graph {

/// Rows of queries, of tokens or heads, that go over keys and values together, so that these are
/// read once for all of them.
constexpr std::size_t attention_rows = 16;

/// Rows of a batch that are tokens of one sequence, one after the other.
struct RowBlock {
    const KvCache* cache;
    std::size_t first;     // row of the batch
    std::size_t count;     // of rows
    std::size_t position;  // of the first row
};

/// What distinguishes the attention of one block from another's: MODEL-2, MODEL-13.
struct ScoreRule {
    float scale;             // scores are multiplied by it
    std::size_t window = 0;  // the positions that a token sees, its own among them; 0: all
    float cap = 0;           // scores become cap tanh(score / cap); 0: they stay
};

/// 1 / sqrt(width).
ScoreRule scores_of_width(double width);

/// Heads of one key head and the tokens of a RowBlock; no more than attention_rows in all.
struct SharedAttention {
    const KvCache& cache;
    std::size_t block;
    std::size_t key_head;
    std::size_t value_head;
    std::size_t position;  // of the first token
    std::size_t heads;     // of each token
    std::size_t head_dim;
    std::size_t value_width;
    std::span<const float* const> queries;  // the first token's heads, the second's, ...
    std::span<float* const> outputs;        // as the queries
    ScoreRule rule = scores_of_width(static_cast<double>(head_dim));

    /// output = softmax(rule(q K^T)) V, over the positions that a token sees, its own the last, for
    /// every query. `scores` has room for queries.size() rows of `context` elements, at least one
    /// per position.
    void run(float* scores, std::size_t context) const;

private:
    /// The first position that a token sees, the first of the block being token 0.
    std::size_t first_seen(std::size_t token) const;
    std::size_t first_part() const;
    void score(std::span<float* const> scores) const;
    void mix(std::span<const float* const> weights) const;
    void mix_positions(std::span<const float* const> weights, std::size_t first_query,
                       std::size_t queries_at_once, std::size_t first, std::size_t end) const;
    const float* keys_of_next_head() const;
};

}  // namespace slip::graph
