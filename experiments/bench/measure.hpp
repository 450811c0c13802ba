// Measurements as people can compare them: interleaved in one run, as medians.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace slip::bench {

using Clock = std::chrono::steady_clock;

/// Seconds that `work()` takes.
template <class Work>
double seconds_of(const Work& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Requires at least one value.
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace slip::bench
