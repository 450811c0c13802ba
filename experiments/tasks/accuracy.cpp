#include "experiments/tasks/accuracy.hpp"

#include <algorithm>
#include <cmath>

#include "optimized/base/error.hpp"

namespace slip::tasks {

Interval wilson_interval(const Accuracy& accuracy) {
    base::require(accuracy.items > 0 && accuracy.correct <= accuracy.items,
                  "wilson_interval: at least one item, at most all of them correct");
    constexpr double z = 1.959964;  // the 0.975 quantile of the normal distribution
    const auto n = static_cast<double>(accuracy.items);
    const double p = accuracy.value();
    const double centre = p + z * z / (2 * n);
    const double radius = z * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    const double scale = 1 + z * z / n;
    return {std::max((centre - radius) / scale, 0.0), std::min((centre + radius) / scale, 1.0)};
}

}  // namespace slip::tasks
