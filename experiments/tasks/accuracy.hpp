// A share of right answers and how sure it is.
#pragma once

#include <cstddef>

namespace slip::tasks {

struct Accuracy {
    std::size_t items = 0;  // at least 1, before value() and interval() are asked
    std::size_t correct = 0;

    void count(bool right) {
        ++items;
        correct += right ? 1U : 0U;
    }
    double value() const { return static_cast<double>(correct) / static_cast<double>(items); }
};

struct Interval {
    double low = 0;
    double high = 0;
};

/// Wilson's score interval at 95 %, for answers that are independent of each other:
///   (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n),   z = 1.959964
/// Requires at least one item.
Interval wilson_interval(const Accuracy& accuracy);

}  // namespace slip::tasks
