// Statistics by slip/slip.h: every member is the one of C++ with its name.
#include <gtest/gtest.h>

#include "optimized/c_api/statistics.hpp"

namespace slip::testing {
namespace {

TEST(CStatistics, every_member_of_a_scheduler_is_that_of_cpp) {
    SchedulerStatistics now;
    now.serving = true;
    now.live = 1;
    now.waiting = 2;
    now.generations = 3;
    now.prompt_tokens = 4;
    now.cached_tokens = 5;
    now.generated_tokens = 6;
    now.sessions = 7;
    now.rejects = 8;
    now.stock_tokens = 9;
    now.full_stock_tokens = 10;
    const slip_scheduler_statistics told = c_api::statistics_of(now);
    EXPECT_EQ(told.size, sizeof told);
    EXPECT_EQ(told.serving, 1);
    EXPECT_EQ(told.damaged, 0);
    EXPECT_EQ(told.live, 1U);
    EXPECT_EQ(told.waiting, 2U);
    EXPECT_EQ(told.generations, 3U);
    EXPECT_EQ(told.prompt_tokens, 4U);
    EXPECT_EQ(told.cached_tokens, 5U);
    EXPECT_EQ(told.generated_tokens, 6U);
    EXPECT_EQ(told.sessions, 7U);
    EXPECT_EQ(told.rejects, 8U);
    EXPECT_EQ(told.stock_tokens, 9U);
    EXPECT_EQ(told.full_stock_tokens, 10U);

    SchedulerStatistics broken;
    broken.damaged = true;
    EXPECT_EQ(c_api::statistics_of(broken).damaged, 1);
    EXPECT_EQ(c_api::statistics_of(broken).serving, 0);
}

}  // namespace
}  // namespace slip::testing
