// When David is called again after a session was lost.
#include "optimized/serving/call_times.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <vector>

namespace slip::serving {
namespace {

using std::chrono::milliseconds;
using Time = CallTimes::Clock::time_point;

Time at(int milliseconds_since_start) { return Time(milliseconds(milliseconds_since_start)); }

/// When each call happens if all fail at once, from a loss at `start` until that is given up.
std::vector<int> calls_after_loss(CallTimes& times, int start) {
    times.lose(at(start));
    times.call_again(at(start));
    std::vector<int> calls;
    while (true) {
        const Time now = times.next();
        calls.push_back(
            static_cast<int>(std::chrono::duration_cast<milliseconds>(now - at(start)).count()));
        times.call_again(now);
        if (times.is_too_late(now)) return calls;
    }
}

TEST(CallTimes, SERVE_2_pauses_double_up_to_eight_seconds_and_the_last_call_is_at_the_limit) {
    CallTimes times(milliseconds(30'000));
    EXPECT_EQ(calls_after_loss(times, 5),
              (std::vector<int>{0, 250, 750, 1750, 3750, 7750, 15750, 23750, 30000}));
}

TEST(CallTimes, SERVE_2_without_patience_there_is_one_call) {
    CallTimes times(milliseconds(0));
    EXPECT_EQ(calls_after_loss(times, 5), std::vector<int>{0});
}

TEST(CallTimes, SERVE_2_a_step_that_succeeds_begins_anew) {
    CallTimes times(milliseconds(1000));
    const std::vector<int> first = calls_after_loss(times, 0);
    EXPECT_EQ(first, (std::vector<int>{0, 250, 750, 1000}));
    times.succeed();
    EXPECT_FALSE(times.waits());
    EXPECT_EQ(calls_after_loss(times, 5000), first);
}

TEST(CallTimes, SERVE_2_a_session_that_opens_without_a_step_does_not_shorten_pauses) {
    CallTimes times(milliseconds(60'000));
    times.lose(at(0));
    times.call_again(at(0));
    times.call_again(at(0));
    EXPECT_EQ(times.next(), at(250));
    times.lose(at(300));  // the session had opened, and was lost before a step
    times.call_again(at(300));
    EXPECT_EQ(times.next(), at(800));
}

TEST(CallTimes, SERVE_2_without_a_generation_no_time_runs_out) {
    CallTimes times(milliseconds(1000));
    EXPECT_FALSE(times.is_too_late(at(1'000'000)));
    times.need(at(0));
    EXPECT_TRUE(times.is_due(at(0)));
    times.need(at(900));  // the wait began before
    EXPECT_FALSE(times.is_too_late(at(999)));
    EXPECT_TRUE(times.is_too_late(at(1000)));
    times.rest();
    EXPECT_FALSE(times.is_too_late(at(1'000'000)));
}

RC_GTEST_PROP(CallTimes, SERVE_2_no_pause_is_longer_than_eight_seconds_or_goes_past_the_limit, ()) {
    const int limit = *rc::gen::inRange(0, 100'000);
    CallTimes times{milliseconds(limit)};
    int now = 0;
    times.lose(at(now));
    for (const int late : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5000))) {
        times.call_again(at(now));
        RC_ASSERT(times.next() >= at(now));
        RC_ASSERT(times.next() <= at(now + 8000));
        RC_ASSERT(now >= limit || times.next() <= at(limit));
        now =
            static_cast<int>(
                std::chrono::duration_cast<milliseconds>(times.next().time_since_epoch()).count()) +
            late;
    }
}

}  // namespace
}  // namespace slip::serving
