// Weights on a coarse grid, which W_D and the rank of the hidden part determine:
// spec/decomposition.md, DECO-13.
#pragma once

#include <cstddef>
#include <string>

#include "optimized/base/matrix_view.hpp"

namespace slip::splitting {

/// Entries of the windows into which a row is cut. Checkpoints of few bits often have a scale for
/// each 32 entries, so a window has one scale.
inline constexpr std::size_t grid_window = 32;
/// A matrix with a smaller share of values that differ is refused.
inline constexpr double least_distinct_share = 0.5;

/// The number of different nonzero values of each window, summed over all windows, over the number
/// of nonzero entries: from near 0 to 1. It is 1 if all entries are 0.
double distinct_share(base::MatrixView<const float> w);

/// Throws BadInput, naming the matrix and its share, if that is below least_distinct_share.
void require_fine_grid(base::MatrixView<const float> w, const std::string& name);

}  // namespace slip::splitting
