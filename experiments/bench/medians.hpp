// Measurements as people can compare them: interleaved in one run, as medians.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/thread_clock.hpp"

namespace slip::bench {

using Clock = std::chrono::steady_clock;

/// Seconds that `work()` takes.
template <class Work>
double seconds_of(const Work& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Processor seconds of this thread that `work()` takes.
template <class Work>
double processor_seconds_of(const Work& work) {
    const double start = base::thread_seconds();
    work();
    return base::thread_seconds() - start;
}

/// Requires at least one value.
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// A measurement: the median of the repetitions.
struct Row {
    std::string name;
    double seconds = 0;
    double per_second = 0;  // bytes, products, tokens or residues per second, as `unit` says
    std::string unit;
};

/// A ratio: the median over the repetitions, in each of which both sides ran.
struct Figure {
    std::string name;
    double value = 0;
};

/// Tokens per second at several lengths of context.
struct Curve {
    struct Point {
        std::size_t context = 0;
        double tokens_per_second = 0;
    };
    std::string name;
    std::vector<Point> points;  // by context
};

/// What a part of Charlie's work costs per token, and what the machine allows at most.
struct Part {
    std::string name;
    std::size_t columns = 0;  // of its messages; 0: ahead of use, the same whatever they have
    double seconds = 0;       // of a processor
    double bound = 0;         // seconds; 0: there is none
    std::string bound_by;
};

struct Report {
    std::vector<Figure> figures;
    std::vector<Row> rows;
    std::vector<Curve> curves = {};  // most have none
    std::vector<Part> parts = {};

    void add_figure(std::string name, double value) { figures.push_back({std::move(name), value}); }
    /// The row of what takes `seconds` for `amount` of a unit.
    void add_row(std::string name, double seconds, double amount, std::string per_second) {
        rows.push_back({std::move(name), seconds, amount / seconds, std::move(per_second)});
    }
};

}  // namespace slip::bench
