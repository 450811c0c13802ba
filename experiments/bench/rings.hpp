// Exact sums of ring products, which masks are made of, against peers.
#pragma once

#include <cstddef>

#include "experiments/bench/medians.hpp"

namespace slip::bench {

/// Sums of as many products as the set `hidden` has elements, over its whole L: for each peer a
/// figure ring_NAME, how many times as fast they are here, the secret's transform and residues in
/// planes included in neither. Throws InternalError if a peer disagrees.
void measure_rings(std::size_t repetitions, Report& report);

}  // namespace slip::bench
