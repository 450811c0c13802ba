// How many masks are ready.
#pragma once

#include <cstddef>

namespace slip::base {

/// Rows of a step for which the group with the fewest masks has enough, now and when its stock is
/// full; both 0 where no masks are kept.
struct StockLevel {
    std::size_t ready = 0;
    std::size_t full = 0;
};

}  // namespace slip::base
