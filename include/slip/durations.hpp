// How long things took, counted by size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// How many durations there were of each size, as a histogram of Prometheus shows them.
struct Durations {
    /// In seconds, rising: a duration counts at the first that it does not exceed.
    static constexpr std::array limits{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                       0.025,  0.05,    0.1,    0.25,  0.5,    1.0,   2.5,
                                       5.0,    10.0,    25.0,   50.0,  100.0,  250.0};

    /// Those at each limit, and behind them those beyond the last one.
    std::array<std::uint64_t, limits.size() + 1> counts{};
    double seconds = 0;  ///< all of them together

    /// Counts one more.
    void add(double duration) {
        const auto* const limit = std::lower_bound(limits.begin(), limits.end(), duration);
        ++counts[static_cast<std::size_t>(limit - limits.begin())];
        seconds += duration;
    }
    /// Counts all of `others`.
    void add(const Durations& others) {
        for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += others.counts[i];
        seconds += others.seconds;
    }
};

}  // namespace slip
