// Multiplications of Charlie with an offline David, by the product's counters (OFF-16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/bench/measure.hpp"
#include "experiments/synthetic/shapes.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/engines/engines.hpp"

namespace slip::bench {

/// Multiplications for one token or several, with cancellations from D2, without attention, norms
/// and AES.
struct Multiplications {
    std::uint64_t online = 0;  // Charlie's: quantise, check the reply, low rank, scales
    std::uint64_t checks = 0;  // Charlie's: check the cancellations
    std::uint64_t linear = 0;  // the model's own, which both Davids do

    friend bool operator==(const Multiplications&, const Multiplications&) = default;
};

/// The shape of a schedule: the groups in the order of the graph, and the columns per token in
/// each. The groups' matrices are not read and may be empty.
struct ScheduleShape {
    Profile profile = Profile::p31;
    std::vector<artifact::CharlieGroup> groups;
    std::vector<std::size_t> columns_per_token;
};

ScheduleShape schedule_of(const artifact::CharlieArtifact& charlie);
/// A model with these groups, in P31; `ranks` has the rank of each member of each group.
ScheduleShape schedule_of(const std::vector<base::GroupShape>& groups,
                          const std::vector<std::vector<std::size_t>>& ranks);
/// Every matrix of a model with these dimensions at rank `rank`, in P31.
ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank);

/// The dimensions of a LLaMA model.
base::ModelConfig config_of(const synthetic::Shape& shape);

/// The count for `block_rows` tokens through the blocks, and the logits of `head_rows` of them: the
/// last group is the head. A prompt needs the logits of its last token alone.
Multiplications of_rows(const ScheduleShape& shape, std::size_t block_rows, std::size_t head_rows);
/// The count for a decoded token: every group once, and the head.
Multiplications of_token(const ScheduleShape& shape);
/// A pair's rho^T W_D: kappa n M of every group.
std::uint64_t of_pair(const ScheduleShape& shape);

/// The difference of two readings of a session's counters, per token of `tokens`. Throws
/// InternalError unless it equals of_token(shape): then one of the two counts is wrong.
Multiplications counted_per_token(const engines::HybridStatistics& before,
                                  const engines::HybridStatistics& after,
                                  const ScheduleShape& shape, std::size_t tokens);

/// Charlie's multiplications over the model's linear ones; `pair` are added per `tokens_per_pair`
/// tokens.
double epsilon(const Multiplications& token, std::uint64_t pair = 0,
               std::size_t tokens_per_pair = 1);

/// Tokens per pair in epsilon_total_own_pair, where Charlie makes the pair.
inline constexpr std::size_t tokens_of_own_pair = 1000;

/// Adds epsilon_total and epsilon_total_own_pair, from `token`, a count of a run or of a schedule
/// of `shape`; and epsilon_total_7b, from the schedule of Llama-2-7B at rank 16.
void report_epsilon(const ScheduleShape& shape, const Multiplications& token, Report& report);

}  // namespace slip::bench
