// Traces: what a viewer gets, and what does not fit.
#include "slip/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "optimized/base/trace_span.hpp"

namespace slip::testing {
namespace {

using Json = nlohmann::json;
using std::chrono::microseconds;

std::vector<Json> spans_of(const Json& json) {
    std::vector<Json> spans;
    for (const Json& event : json.at("traceEvents")) {
        if (event.at("ph") == "X") spans.push_back(event);
    }
    return spans;
}

TEST(Trace, times_are_microseconds_since_it_began) {
    const auto before = Trace::Clock::now();
    Trace trace;
    const auto after = Trace::Clock::now();
    const auto begin = after + microseconds(1500);
    trace.add({Trace::Track::david, "message", begin, begin + microseconds(250), 7, 3});

    const Json span = spans_of(Json::parse(trace.json())).at(0);
    const double late = std::chrono::duration<double, std::micro>(after - before).count();
    EXPECT_GE(span.at("ts").get<double>(), 1500);
    EXPECT_LE(span.at("ts").get<double>(), 1500 + late + 0.001);
    EXPECT_DOUBLE_EQ(span.at("dur").get<double>(), 250);
    EXPECT_EQ(span.at("tid"), 2);
    EXPECT_EQ(span.at("name"), "message");
    EXPECT_EQ(span.at("args"), Json({{"group", 7}, {"columns", 3}}));
}

TEST(Trace, what_does_not_fit_is_counted) {
    for (std::size_t most = 0; most <= 4; ++most) {
        Trace trace(most);
        for (std::size_t i = 0; i < 3; ++i) {
            const base::TraceSpan span(&trace, Trace::Track::charlie, "mask", 0, i);
        }
        const Json json = Json::parse(trace.json());
        const std::size_t kept = std::min<std::size_t>(most, 3);
        ASSERT_EQ(spans_of(json).size(), kept);
        for (std::size_t i = 0; i < kept; ++i) {
            EXPECT_EQ(spans_of(json)[i].at("args").at("columns"), i);
        }
        EXPECT_EQ(json.at("otherData").at("spans_left_out"), 3 - kept);
    }
}

TEST(Trace, without_one_a_span_is_nothing) {
    const base::TraceSpan span(nullptr, Trace::Track::charlie, "mask", 0, 1);
}

}  // namespace
}  // namespace slip::testing
