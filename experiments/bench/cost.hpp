// Multiplications of Charlie with an offline David, by the product's counters (OFF-16).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experiments/bench/measure.hpp"
#include "optimized/artifact/artifact.hpp"
#include "optimized/engines/engines.hpp"

namespace slip::bench {

/// Multiplications, of one token or of several, with cancellations from D2. Attention, norms and
/// AES are not among them.
struct Multiplications {
    std::uint64_t online = 0;  // Charlie's: quantise, check the reply, low rank, scales
    std::uint64_t checks = 0;  // Charlie's: check the cancellations
    std::uint64_t linear = 0;  // the model's own, which both Davids do

    friend bool operator==(const Multiplications&, const Multiplications&) = default;
};

/// What a schedule is made of: the groups in the order of the graph, and the columns that a token
/// is in each. The groups' matrices may be empty: none is looked at.
struct ScheduleShape {
    Profile profile = Profile::p31;
    std::vector<artifact::CharlieGroup> groups;
    std::vector<std::size_t> columns_per_token;
};

ScheduleShape schedule_of(const artifact::CharlieArtifact& charlie);
/// Every matrix of a model with these dimensions at rank `rank`, in P31.
ScheduleShape schedule_of(const base::ModelConfig& config, std::size_t rank);

/// A decoded token: every group once, and the head.
Multiplications of_token(const ScheduleShape& shape);
/// A pair's rho^T W_D: kappa n M of every group.
std::uint64_t of_pair(const ScheduleShape& shape);

/// What a session with offline Davids has counted between two moments for each of `tokens` tokens.
/// Throws InternalError where a schedule of so many tokens is something else: then one of the two
/// counts is wrong.
Multiplications counted_per_token(const engines::HybridStatistics& before,
                                  const engines::HybridStatistics& after,
                                  const ScheduleShape& shape, std::size_t tokens);

/// Charlie's in parts of the model's; `pair` more for every `tokens_per_pair` tokens.
double epsilon(const Multiplications& token, std::uint64_t pair = 0,
               std::size_t tokens_per_pair = 1);

/// Tokens that a pair of Charlie's own making serves in epsilon_total_own_pair.
inline constexpr std::size_t tokens_of_own_pair = 1000;

/// epsilon_total and epsilon_total_own_pair of a token of `shape`, which was counted in a run or on
/// a schedule, and epsilon_total_7b: Llama-2-7B's at rank 16, on a schedule.
void report_epsilon(const ScheduleShape& shape, const Multiplications& token, Report& report);

}  // namespace slip::bench
