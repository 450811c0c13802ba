// How many masks are ready.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace slip::masks {

/// Rows of a step for which the group with the fewest masks has enough, now and when its stock is
/// full; both 0 where no masks are kept.
struct StockLevel {
    std::size_t ready = 0;
    std::size_t full = 0;
};

/// The level of the queues of all groups; `ready` and `full` return the masks of a queue.
template <class Queues, class Ready, class Full>
StockLevel level_of(const Queues& queues, const Ready& ready, const Full& full) {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    StockLevel level{most, most};
    for (const auto& queue : queues) {
        level.ready = std::min<std::size_t>(level.ready, ready(queue));
        level.full = std::min<std::size_t>(level.full, full(queue));
    }
    return queues.empty() ? StockLevel{} : level;
}

}  // namespace slip::masks
