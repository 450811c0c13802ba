// Where Charlie's processor time goes, part by part, and what the machine would allow.
#pragma once

#include <array>
#include <cstddef>

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Charlie's processor time per token as measure_masks() has measured it, in seconds: masks for a
/// token, and at each of measured_columns what he does online and, of that, messages.
struct CharlieTimes {
    double masks = 0;
    std::array<double, measured_columns.size()> online{};
    std::array<double, measured_columns.size()> messages{};
};

/// Adds to `report` the parts of Charlie's time per token: the functions that he calls, each by
/// itself over all groups of the model, and two remainders, ahead of use and online, of what no
/// part accounts for. Each part has a bound where the machine gives a simple one, measured beside
/// it: what is not in a cache read or written once, at the rate of a plain read; a keystream or a
/// record of TLS at the rate of its cipher; multiplications of products at the rate of fused ones
/// in registers. Figures: charlie_parts_sum_1 and charlie_parts_sum_16, all parts but the
/// remainders over his time. A row has the expansion of T, which happens once, beside SHAKE-128
/// alone. Requires: a set with lattice masks, and 17 masks of every group ready.
void measure_charlie_parts(const WholeModel& whole, const CharlieTimes& times, Report& report);

}  // namespace slip::bench
