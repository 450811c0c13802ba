// What sessions over a split model cost Charlie, counted on their schedule: nothing is run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/bench/cost.hpp"

namespace slip::costs {

/// `batch` sequences that are decoded together in one session, each of `prompt` tokens with
/// `tokens` new ones. All are at least 1.
struct Session {
    std::size_t prompt = 1;
    std::size_t tokens = 1;
    std::size_t batch = 1;

    /// Positions per sequence that go through the blocks: the last new token does not.
    std::size_t positions() const { return prompt + tokens - 1; }
};

/// Multiplications of one session, without norms, softmax and AES. `attention` is counted apart.
struct Cost {
    bench::Multiplications products;  // the checks are those of a second David's cancellations
    std::uint64_t pair = 0;           // rho^T W_D, computed once per pair (INTEG-2)
    std::uint64_t attention = 0;      // Charlie's scores and weighted sums

    /// Charlie's online products over the model's linear ones.
    double online() const;
    /// Online and offline, with a second David's cancellations and a pair that was prepared.
    double total_with_second_david() const;
    /// The same where Charlie computes the pair for this session alone.
    double total_with_second_david_own_pair() const;
    /// Online and offline where Charlie computes the cancellations and the pair himself.
    double total_alone() const;
    /// Attention over the model's linear multiplications.
    double attention_share() const;
    /// Charlie's part of the whole model, attention included on both sides; a second David, and a
    /// pair that was prepared.
    double total_with_attention() const;
};

/// LAT-9, ATTN-7: a token that attends to t tokens takes 2 t d products per block, d the width of
/// all query heads, in the one-round order.
std::uint64_t attention_of(const base::ModelConfig& config, const Session& session);

/// `shape` is a schedule of `config`.
Cost cost_of(const bench::ScheduleShape& shape, const base::ModelConfig& config,
             const Session& session);

}  // namespace slip::costs
