// Interleaved comparisons of work on one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/bench/medians.hpp"
#include "optimized/base/thread_clock.hpp"

namespace slip::bench {

/// One side of a comparison.
struct Contestant {
    std::string name;
    std::function<void()> run;
    double amount = 0;  // of `unit`, in one run
    std::string unit;
};

/// Seconds of every contestant in every repetition; in a repetition each runs once, in turn.
class Contest {
public:
    Contest(std::vector<Contestant> contestants, std::size_t repetitions, Report& report)
        : contestants_(std::move(contestants)), seconds_(contestants_.size()) {
        for (const Contestant& contestant : contestants_) contestant.run();  // warm
        for (std::size_t r = 0; r < repetitions; ++r) {
            for (std::size_t i = 0; i < contestants_.size(); ++i) {
                // Processor time of this thread: another process' turn is no part of it.
                const double start = base::thread_seconds();
                contestants_[i].run();
                seconds_[i].push_back(base::thread_seconds() - start);
            }
        }
        for (std::size_t i = 0; i < contestants_.size(); ++i) {
            const double seconds = median(seconds_[i]);
            report.add_row(contestants_[i].name, seconds, contestants_[i].amount,
                           contestants_[i].unit);
        }
    }

    /// How many times as fast `a` works as `b`, by amount.
    double ratio(std::size_t a, std::size_t b) const {
        std::vector<double> ratios;
        for (std::size_t r = 0; r < seconds_[a].size(); ++r) {
            ratios.push_back(contestants_[a].amount / seconds_[a][r] /
                             (contestants_[b].amount / seconds_[b][r]));
        }
        return median(ratios);
    }

private:
    std::vector<Contestant> contestants_;
    std::vector<std::vector<double>> seconds_;
};

}  // namespace slip::bench
