// What the hidden split costs David and Charlie, in parts of the unprotected model.
#pragma once

#include "experiments/bench/medians.hpp"
#include "experiments/bench/whole_model.hpp"

namespace slip::bench {

/// Columns of a message at which David is measured, and at the first and the last of which Charlie
/// is.
inline constexpr std::array<std::size_t, 4> hidden_columns = {1, 8, 32, 128};

/// Measures a model whose split is hidden, through every group once, with David in this process:
/// david_hidden_C, his time at C columns over the unprotected product's and over h (1 + ell/M);
/// charlie_hidden_1 and charlie_hidden_128, Charlie's processor time per column, masks ahead of use
/// included, TLS and the graph's floats not, over the unprotected product's time at as many
/// columns; charlie_over_david, of one column; hint_bytes, per entry. No figures of another set.
Report measure_hidden(WholeModel& whole);

}  // namespace slip::bench
