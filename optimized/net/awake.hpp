// Waits that spin for a while before they sleep: TimeLimits::awake.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "optimized/base/parallel.hpp"
#include "optimized/net/deadline.hpp"

namespace slip::net {

/// The waits of one end of a connection.
class Awake {
public:
    explicit Awake(std::chrono::microseconds longest) : longest_(longest) {}

    /// Asks `ready` again and again, yielding to other threads, and returns true as soon as it says
    /// so; false when it is time to sleep. On one processor that is at once.
    template <class Ready>
    bool until(const Ready& ready, Clock::time_point deadline) {
        static const bool several_processors = base::available_threads() > 1;
        auto now = Clock::now();
        const auto end = std::min(now + longest_, deadline);
        while (several_processors && now < end && now >= wanted_by_others_until_) {
            if (ready()) return true;
            std::this_thread::yield();
            const auto before = std::exchange(now, Clock::now());
            if (now - before > given_away) wanted_by_others_until_ = now + considerate;
        }
        return false;
    }

private:
    /// Who gives the processor away for longer than this has met another thread that wants it. He
    /// gets it back later than a thread that sleeps and is woken, so for a while every wait sleeps
    /// at once.
    static constexpr std::chrono::microseconds given_away{2000};
    static constexpr std::chrono::milliseconds considerate{20};

    const std::chrono::microseconds longest_;
    Clock::time_point wanted_by_others_until_{};  // the processor
};

}  // namespace slip::net
