// Asking a busy David again: when, how often, and when not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "optimized/api/retry_while_busy.hpp"

namespace slip::api {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

/// A clock that only sleeping moves.
struct Simulated {
    RetryClock clock() {
        return {[this] { return RetryClock::Clock::time_point(time); },
                [this](milliseconds wait) {
                    waits.push_back(wait);
                    time += wait;
                },
                [this] { return chance; }};
    }
    milliseconds time{0};
    std::vector<milliseconds> waits;
    double chance = 1;
    int attempts = 0;
    int told = 0;

    /// Asks a David who refuses for `reason` the first `refusals` times.
    int ask(milliseconds limit, int refusals, Refusal reason = Refusal::busy) {
        return retry_while_busy(
            limit, [this] { ++told; },
            [&] {
                if (++attempts <= refusals) throw Refused(reason, "no");
                return 7;
            },
            clock());
    }
};

TEST(RetryWhileBusy, who_is_served_at_once_does_not_wait) {
    Simulated world;
    EXPECT_EQ(world.ask(30s, 0), 7);
    EXPECT_EQ(world.waits, std::vector<milliseconds>{});
    EXPECT_EQ(world.told, 0);
}

TEST(RetryWhileBusy, waits_double_to_eight_seconds_and_it_is_told_once) {
    Simulated world;
    EXPECT_EQ(world.ask(1h, 8), 7);
    EXPECT_EQ(world.waits, (std::vector<milliseconds>{250ms, 500ms, 1s, 2s, 4s, 8s, 8s, 8s}));
    EXPECT_EQ(world.told, 1);
    Simulated lucky;
    lucky.chance = 0;
    EXPECT_EQ(lucky.ask(1h, 3), 7);
    EXPECT_EQ(lucky.waits, (std::vector<milliseconds>{125ms, 250ms, 500ms}));
}

TEST(RetryWhileBusy, chance_decides_half_of_a_wait) {
    const RetryClock real;
    double least = 1;
    double most = 0;
    for (int i = 0; i < 1000; ++i) {
        const double chance = real.chance();
        least = std::min(least, chance);
        most = std::max(most, chance);
    }
    EXPECT_TRUE(0 <= least && least < 0.1 && 0.9 < most && most <= 1) << least << ", " << most;
}

TEST(RetryWhileBusy, the_last_attempt_is_at_the_limit) {
    Simulated world;
    EXPECT_THROW(world.ask(1000ms, 1 << 20), Refused);
    EXPECT_EQ(world.waits, (std::vector<milliseconds>{250ms, 500ms, 250ms}));
    EXPECT_EQ(world.attempts, 4);
    Simulated once;
    EXPECT_THROW(once.ask(0ms, 1), Refused);
    EXPECT_EQ(once.attempts, 1);
    EXPECT_EQ(once.told, 0);
}

TEST(RetryWhileBusy, other_refusals_and_errors_are_final) {
    for (const Refusal reason :
         {Refusal::version, Refusal::set, Refusal::digest, Refusal::malformed,
          Refusal::out_of_order, Refusal::unknown_group}) {
        Simulated world;
        EXPECT_THROW(world.ask(1h, 1, reason), Refused);
        EXPECT_EQ(world.attempts, 1);
    }
    int attempts = 0;
    const auto attempt = [&]() -> int {
        ++attempts;
        throw ProtocolError("he is gone");
    };
    EXPECT_THROW(retry_while_busy(1h, nullptr, attempt, Simulated().clock()), ProtocolError);
    EXPECT_EQ(attempts, 1);
}

TEST(RetryWhileBusy, who_is_told_may_end_it) {
    const auto stop = [] { throw std::string("enough"); };
    const auto attempt = []() -> int { throw Refused(Refusal::busy, "no"); };
    EXPECT_THROW(retry_while_busy(1h, stop, attempt, Simulated().clock()), std::string);
}

}  // namespace
}  // namespace slip::api
