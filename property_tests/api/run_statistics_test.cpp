// Costs that are added up: every member counts.
#include "slip/run_statistics.hpp"

#include <gtest/gtest.h>

#include "slip/scheduler.hpp"

namespace slip::testing {
namespace {

void fill(OnlineCosts& costs) {
    static_assert(sizeof(OnlineCosts) == 6 * sizeof(std::uint64_t), "every member is filled");
    costs.rounds = 1;
    costs.checks = 2;
    costs.bytes_up = 3;
    costs.bytes_down = 4;
    costs.charlie_multiplications = 5;
    costs.david_multiplications = 6;
}

void expect_three_times(const OnlineCosts& costs) {
    EXPECT_EQ(costs.rounds, 3U);
    EXPECT_EQ(costs.checks, 6U);
    EXPECT_EQ(costs.bytes_up, 9U);
    EXPECT_EQ(costs.bytes_down, 12U);
    EXPECT_EQ(costs.charlie_multiplications, 15U);
    EXPECT_EQ(costs.david_multiplications, 18U);
}

TEST(Costs, those_of_runs_are_added_member_by_member) {
    static_assert(sizeof(RunStatistics) ==
                      sizeof(OnlineCosts) + 10 * sizeof(std::uint64_t) + sizeof(Durations),
                  "every member is filled");
    RunStatistics one;
    fill(one);
    one.columns = 7;
    one.charlie_seconds = 8;
    one.david_seconds = 9;
    one.offline_seconds = 10;
    one.late_seconds = 11;
    one.offline_multiplications = 12;
    one.masks_made = 13;
    one.masks_used = 14;
    one.masks_waited_for = 15;
    one.mask_wait_seconds = 16;
    one.round_times.add(2);
    RunStatistics sum = one;
    for (int i = 0; i < 2; ++i) sum.add(one);
    expect_three_times(sum);
    EXPECT_EQ(sum.columns, 21U);
    EXPECT_EQ(sum.charlie_seconds, 24);
    EXPECT_EQ(sum.david_seconds, 27);
    EXPECT_EQ(sum.offline_seconds, 30);
    EXPECT_EQ(sum.late_seconds, 33);
    EXPECT_EQ(sum.offline_multiplications, 36U);
    EXPECT_EQ(sum.masks_made, 39U);
    EXPECT_EQ(sum.masks_used, 42U);
    EXPECT_EQ(sum.masks_waited_for, 45U);
    EXPECT_EQ(sum.mask_wait_seconds, 48);
    EXPECT_EQ(sum.round_times.seconds, 6);
}

TEST(Costs, those_of_generations_are_added_member_by_member) {
    static_assert(sizeof(Receipt) == sizeof(OnlineCosts) + 4 * sizeof(std::uint64_t),
                  "every member is filled");
    Receipt one;
    fill(one);
    one.prompt_tokens = 7;
    one.cached_tokens = 8;
    one.generated_tokens = 9;
    one.repeated_steps = 10;
    Receipt sum = one;
    for (int i = 0; i < 2; ++i) sum.add(one);
    expect_three_times(sum);
    EXPECT_EQ(sum.prompt_tokens, 21U);
    EXPECT_EQ(sum.cached_tokens, 24U);
    EXPECT_EQ(sum.generated_tokens, 27U);
    EXPECT_EQ(sum.repeated_steps, 30U);
}

TEST(Costs, charlies_share_is_of_both_and_0_where_nobody_multiplies) {
    OnlineCosts costs;
    EXPECT_EQ(costs.charlie_share(), 0);
    costs.charlie_multiplications = 1;
    EXPECT_EQ(costs.charlie_share(), 1);
    costs.david_multiplications = 3;
    EXPECT_EQ(costs.charlie_share(), 0.25);
}

}  // namespace
}  // namespace slip::testing
