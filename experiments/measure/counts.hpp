// Charlie's multiplications in parts of the model's (DEF-6), counted on a schedule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "experiments/measure/shapes.hpp"
#include "optimized/artifact/artifact.hpp"

namespace slip::measure {

/// Multiplications for one token or several, without attention, norms and AES.
struct Multiplications {
    std::uint64_t online = 0;   // Charlie's: quantise, check the reply, low rank, scales
    std::uint64_t offline = 0;  // Charlie's: the masks and cancellations (MASK-3, MASK-7)
    std::uint64_t linear = 0;   // the model's own, which David does
};

/// The shape of a schedule: the groups in the order of the graph, and the columns per token in
/// each. The groups' matrices are not read and may be empty.
struct ScheduleShape {
    std::vector<artifact::CharlieGroup> groups;
    std::vector<std::size_t> columns_per_token;
    const base::parameters::ParameterSet* set = base::parameters::set_named("paper");
};

ScheduleShape schedule_of(const artifact::CharlieArtifact& charlie);
/// A model with these groups; `ranks` has the rank of each member of each group.
ScheduleShape schedule_of(const std::vector<base::GroupShape>& groups,
                          const std::vector<std::vector<std::size_t>>& ranks);
/// Every matrix of a model with these dimensions at rank `rank`, or hidden, wide ones in parts
/// (HIDE-7), where the set says so.
ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank,
                          std::string_view set = "paper");

/// The dimensions of a LLaMA model.
base::ModelConfig config_of(const Shape& shape);

/// The count for `block_rows` tokens through the blocks, and the logits of `head_rows` of them: the
/// last group is the head. A prompt needs the logits of its last token alone.
Multiplications of_rows(const ScheduleShape& shape, std::size_t block_rows, std::size_t head_rows);
/// The count for a decoded token: every group once, and the head.
Multiplications of_token(const ScheduleShape& shape);

/// What one decoded token of one sequence costs, counted from the shape.
struct TokenCost {
    std::uint64_t rounds = 0;           // messages to David, each with its reply
    std::uint64_t bytes_up = 0;         // to David, frames included
    std::uint64_t bytes_down = 0;       // from him, likewise
    std::uint64_t davids_bytes = 0;     // of matrices that he reads, whatever the columns
    std::uint64_t davids_products = 0;  // of two bytes
    std::uint64_t hints = 0;            // bytes on Charlie's disk, whatever the tokens
    Multiplications multiplications;    // the others'; without floats
    std::uint64_t floats = 0;           // Charlie's, of MODEL-5
};

/// After `context` others, of a model that was split in this set, where it does not hide at rank
/// `rank`.
TokenCost cost_of_token(const base::ModelConfig& config, std::size_t rank, std::string_view set,
                        std::size_t context);

/// MODEL-22: what a decoded token of one sequence costs the David of a shard, and what he holds.
struct ShardCost {
    std::size_t groups = 0;
    std::uint64_t held = 0;    // bytes of his matrices: W_D, or A and a U per width
    std::uint64_t rounds = 0;  // and as TokenCost has them
    std::uint64_t bytes_up = 0;
    std::uint64_t bytes_down = 0;
};

/// Of each of `shards` shards of a model that was split in this set.
std::vector<ShardCost> cost_of_shards(const base::ModelConfig& config, std::string_view set,
                                      std::size_t shards);

/// DEF-6: Charlie's multiplications over the model's linear ones.
double epsilon_online(const Multiplications& count);
double epsilon_total(const Multiplications& count);

/// Charlie's multiplications of every kind for a token after `context` others, over the model's
/// linear ones: online, the masks, and MODEL-5's floats (MODEL-6).
double charlie_total(const ScheduleShape& shape, const base::ModelConfig& config,
                     std::size_t context);

/// A sequence of `prompt` tokens with `tokens` new ones. Both are at least 1. Sequences that are
/// decoded together cost the sum of what each costs.
struct Session {
    std::size_t prompt = 1;
    std::size_t tokens = 1;

    /// Positions that go through the blocks: the last new token does not.
    std::size_t positions() const { return prompt + tokens - 1; }
};

/// LAT-9, ATTN-7: Charlie's multiplications of scores and weighted sums. A token that attends to t
/// tokens takes 2 t d of them per block, d the width of all query heads, in the one-round order.
std::uint64_t attention_of(const base::ModelConfig& config, const Session& session);

}  // namespace slip::measure
