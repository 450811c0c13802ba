// A scheduler by slip/slip.h, with every function called by several threads at once.
// test: threads
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "property_tests/serving/served_model.hpp"
#include "slip/slip.h"

namespace slip::testing {
namespace {

slip_language_model* opened_unsplit() {
    slip_language_model* model = nullptr;
    EXPECT_EQ(slip_open_unsplit(small_served().artifact.c_str(), nullptr, &model, nullptr),
              SLIP_OK);
    return model;
}

slip_scheduler* opened_scheduler(slip_language_model* model) {
    slip_scheduler* scheduler = nullptr;
    EXPECT_EQ(slip_open_scheduler(model, nullptr, &scheduler), SLIP_OK);
    return scheduler;
}

/// How many generations have ended, and how many of these by cancellation.
struct Ends {
    std::atomic<int> all = 0, cancelled = 0;
};

void count_end(void* context, const slip_generation_end* end) {
    auto& ends = *static_cast<Ends*>(context);
    if (end->reason == SLIP_END_CANCELLED) ++ends.cancelled;
    ++ends.all;
}

slip_status submit(slip_scheduler* scheduler, Ends& ends, std::uint64_t* id = nullptr) {
    const std::int32_t prompt = 1;
    slip_sampling_options sampling{};
    sampling.size = sizeof sampling;
    sampling.max_tokens = 100;
    slip_generation_request request{};
    request.size = sizeof request;
    request.prompt = &prompt;
    request.prompt_count = 1;
    request.sampling = &sampling;
    request.on_end = count_end;
    request.context = &ends;
    return slip_submit(scheduler, &request, id);
}

/// Whether a call failed for another reason than that its handle was freed.
bool failed_while_freed(slip_status status) {
    return status != SLIP_OK && status != SLIP_INVALID_HANDLE;
}

/// Every function that a scheduler and its model have, until the scheduler is gone. Returns how
/// many generations began.
int meddle(slip_language_model* model, slip_scheduler* scheduler, Ends& ends) {
    int begun = 0;
    for (std::uint64_t id = 0;;) {
        const slip_status status = submit(scheduler, ends, &id);
        if (status == SLIP_OK) ++begun;
        if (status == SLIP_INVALID_HANDLE) return begun;
        slip_cancel(scheduler, id);
        std::size_t count = 0;
        EXPECT_FALSE(failed_while_freed(slip_max_positions(model, &count)));
        slip_scheduler_statistics now{};
        now.size = sizeof now;
        EXPECT_FALSE(failed_while_freed(slip_get_scheduler_statistics(scheduler, &now, nullptr)));
        slip_sequence* sequence = nullptr;
        EXPECT_NE(slip_open_sequence(model, &sequence), SLIP_OK);
    }
}

TEST(CScheduler, it_is_freed_while_others_use_it) {
    slip_language_model* const model = opened_unsplit();
    slip_scheduler* const scheduler = opened_scheduler(model);
    Ends ends;
    std::atomic<int> begun = 0;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] { begun += meddle(model, scheduler, ends); });
    }
    while (ends.all < 20) std::this_thread::yield();
    threads.emplace_back([&] { EXPECT_FALSE(failed_while_freed(slip_drain(scheduler))); });
    EXPECT_EQ(slip_free_scheduler(scheduler), SLIP_OK);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ends.all, begun);
    EXPECT_GT(ends.cancelled, 0);
    std::size_t count = 0;
    EXPECT_EQ(slip_max_positions(model, &count), SLIP_INVALID_HANDLE);
    EXPECT_EQ(slip_free_language_model(model), SLIP_OK);
}

TEST(CScheduler, two_who_free_it_free_it_once) {
    slip_language_model* const model = opened_unsplit();
    slip_scheduler* const scheduler = opened_scheduler(model);
    std::atomic<int> freed = 0;
    const auto free = [&] { freed += slip_free_scheduler(scheduler) == SLIP_OK ? 1 : 0; };
    std::thread other(free);
    free();
    other.join();
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(slip_free_language_model(model), SLIP_OK);
}

TEST(CScheduler, one_of_two_gets_the_model) {
    slip_language_model* const model = opened_unsplit();
    std::atomic<int> got = 0;
    const auto take = [&] {
        slip_scheduler* scheduler = nullptr;
        const slip_status status = slip_open_scheduler(model, nullptr, &scheduler);
        EXPECT_TRUE(status == SLIP_OK || status == SLIP_BUSY) << slip_last_error();
        if (status != SLIP_OK) return;
        ++got;
        slip_free_scheduler(scheduler);
    };
    std::thread other(take);
    take();
    other.join();
    EXPECT_EQ(got, 1);
    EXPECT_EQ(slip_free_language_model(model), SLIP_OK);
}

}  // namespace
}  // namespace slip::testing
