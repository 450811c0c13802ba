// When David is called again after a session was lost, and when that is given up: SERVE-2.
#pragma once

#include <chrono>
#include <optional>

namespace slip::serving {

/// Pure arithmetic of times: who uses it reads the clock and calls.
class CallTimes {
public:
    using Clock = std::chrono::steady_clock;

    /// `limit`: how long generations wait for a session.
    explicit CallTimes(std::chrono::milliseconds limit) : limit_(limit) {}

    /// Generations need a session and none is open. The first time makes a call due at once.
    void need(Clock::time_point now);
    /// No generation waits for a session any more.
    void rest() { without_.reset(); }
    /// The session was lost: it is missing from now on, if it was not before.
    void lose(Clock::time_point now);
    /// A step succeeded.
    void succeed();
    /// A call is to follow: at once after the first loss, then after pauses of 250 ms, 500 ms, up
    /// to 8 s, until a step succeeds. The last call is at the limit.
    void call_again(Clock::time_point now);

    bool is_due(Clock::time_point now) const { return now >= call_at_; }
    Clock::time_point next() const { return call_at_; }
    /// Whether somebody waits for a session.
    bool waits() const { return without_.has_value(); }
    /// Whether that has taken as long as it may.
    bool is_too_late(Clock::time_point now) const { return without_ && now - *without_ >= limit_; }
    std::chrono::milliseconds limit() const { return limit_; }

private:
    const std::chrono::milliseconds limit_;
    std::optional<Clock::time_point> without_;  // since when a session is missing
    Clock::time_point call_at_{};
    std::chrono::milliseconds pause_{0};
};

}  // namespace slip::serving
