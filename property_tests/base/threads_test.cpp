// Work that several threads share: each part is done once, and the result does not depend on them.
// test: threads
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/worker_team.hpp"

namespace slip::testing {
namespace {

using namespace base;

/// Every call is made once, whoever else calls at the same time.
TEST(Team, several_callers_get_their_work_done) {
    WorkerTeam team(3);
    EXPECT_EQ(team.threads(), 3U);
    const auto caller = [&team] {
        for (std::size_t count = 0; count < 200; ++count) {
            std::vector<std::atomic<int>> calls(count);
            team.run(count, [&](std::size_t i) { ++calls[i]; });
            for (const auto& call : calls) EXPECT_EQ(call, 1);
        }
    };
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) callers.emplace_back(caller);
    for (std::thread& thread : callers) thread.join();
}

TEST(ParallelFor, makes_each_call_once_and_passes_a_failure_on) {
    for (const std::size_t threads : {1U, 2U, 9U}) {
        std::vector<int> calls(100);
        parallel_for(threads, calls.size(), [&](std::size_t i) { ++calls[i]; });
        EXPECT_EQ(calls, std::vector<int>(100, 1));
        parallel_for(threads, 0, [](std::size_t) { ADD_FAILURE(); });
        const auto fail = [](std::size_t i) {
            if (i == 7) throw slip::BadInput("seven");
        };
        EXPECT_THROW(parallel_for(threads, 100, fail), slip::BadInput);
    }
}

/// ThreadSanitizer takes what the last holder of an exception does for a race with what() on
/// another thread (property_tests/tsan.supp), and leaves it out only if it can name what its
/// reports show. This is that case and no race: where this test fails under ThreadSanitizer,
/// suppressions have no effect.
TEST(Watch, an_exception_is_destroyed_by_another_thread) {
    std::exception_ptr error = std::make_exception_ptr(slip::BadInput("told to another thread"));
    std::atomic<bool> told = false;
    std::thread last([holder = error, &told]() mutable {
        while (!told.load(std::memory_order_relaxed)) std::this_thread::yield();
        holder = nullptr;
    });
    try {
        std::rethrow_exception(std::exchange(error, nullptr));
    } catch (const slip::BadInput& told_here) {
        EXPECT_EQ(std::string(told_here.what()), "told to another thread");
    }
    told.store(true, std::memory_order_relaxed);
    last.join();
}

}  // namespace
}  // namespace slip::testing
