// Trying again while David has no place for a session: spec/transport.md, SESS-8.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <type_traits>

#include "slip/error.hpp"

namespace slip::api {

/// Time and chance, which tests replace.
struct RetryClock {
    using Clock = std::chrono::steady_clock;
    std::function<Clock::time_point()> now = Clock::now;
    std::function<void(std::chrono::milliseconds)> sleep = [](std::chrono::milliseconds time) {
        std::this_thread::sleep_for(time);
    };
    /// From 0 to 1.
    std::function<double()> chance = [generator = std::mt19937(std::random_device()())]() mutable {
        return std::uniform_real_distribution<double>(0, 1)(generator);
    };
};

/// What `attempt` returns. While it throws Refused because David is busy, and `limit` has not
/// passed, it is called again after a wait: of up to 0.25 s, and each time up to twice as long, to
/// 8 s at most. Half of a wait is left to chance, so that Charlies who were refused together do not
/// come back together. `on_busy`, if there is one, is called once, before the first wait.
template <class Attempt>
std::invoke_result_t<Attempt> retry_while_busy(std::chrono::milliseconds limit,
                                               const std::function<void()>& on_busy,
                                               const Attempt& attempt,
                                               const RetryClock& clock = {}) {
    using std::chrono::milliseconds;
    constexpr milliseconds first{250};
    constexpr milliseconds most{8000};
    const auto end = clock.now() + limit;
    for (milliseconds wait = first;; wait = std::min(2 * wait, most)) {
        milliseconds left{};
        try {
            return attempt();
        } catch (const Refused& refused) {
            left = std::chrono::duration_cast<milliseconds>(end - clock.now());
            if (refused.reason() != Refusal::busy || left <= milliseconds::zero()) throw;
        }
        if (on_busy && wait == first) on_busy();
        const double part = 0.5 + 0.5 * clock.chance();
        clock.sleep(std::min(left, milliseconds(static_cast<std::int64_t>(
                                       part * static_cast<double>(wait.count())))));
    }
}

}  // namespace slip::api
