// Threads for shared work where memory runs out: each allocation of a start fails once.
// test: alone, counts
// links: slip_base
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>

#include "optimized/base/parallel.hpp"
#include "optimized/base/worker_team.hpp"
#include "property_tests/generators/failing_memory.hpp"

namespace slip::testing {
namespace {

/// Threads that were started before the failure are sent home: nothing hangs, nothing is left.
template <class Start>
void expect_error_alone(const Start& start) {
    int failures = 0;
    for (long n = 0;; ++n) {
        const long before = allocations_alive;
        const Outcome outcome = outcome_at(n, start);
        if (outcome == Outcome::has_fewer) break;
        failures += outcome == Outcome::fails ? 1 : 0;
        EXPECT_EQ(allocations_alive, before) << "allocation " << n;
    }
    EXPECT_GT(failures, 4) << "of one thread's start after another";
}

TEST(TeamMemory, SESS_13_a_team_that_cannot_be_started_is_an_error) {
    expect_error_alone([] { const base::WorkerTeam team(5); });
}

TEST(TeamMemory, SESS_13_threads_that_cannot_be_started_for_a_call_are_an_error) {
    expect_error_alone([] {
        std::atomic<std::size_t> calls = 0;
        base::parallel_for(5, 20, [&](std::size_t) { ++calls; });
    });
}

}  // namespace
}  // namespace slip::testing
