// What sessions over a split model cost Charlie, counted on their schedule: nothing is run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "experiments/bench/cost.hpp"

namespace slip::costs {

/// A sequence of `prompt` tokens with `tokens` new ones. Both are at least 1. Sequences that are
/// decoded together cost the sum of what each costs.
struct Session {
    std::size_t prompt = 1;
    std::size_t tokens = 1;

    /// Positions that go through the blocks: the last new token does not.
    std::size_t positions() const { return prompt + tokens - 1; }
};

/// Multiplications of one session, without norms, softmax and AES. `attention` is counted apart.
struct Cost {
    bench::Multiplications products;
    std::uint64_t attention = 0;  // Charlie's scores and weighted sums

    /// Attention over the model's linear multiplications.
    double attention_share() const;
    /// Charlie's online part of the whole model, attention included on both sides.
    double online_with_attention() const;
};

/// LAT-9, ATTN-7: a token that attends to t tokens takes 2 t d products per block, d the width of
/// all query heads, in the one-round order.
std::uint64_t attention_of(const base::ModelConfig& config, const Session& session);

/// `shape` is a schedule of `config`.
Cost cost_of(const bench::ScheduleShape& shape, const base::ModelConfig& config,
             const Session& session);

}  // namespace slip::costs
