// Makes allocations fail. Replaces operator new: a program includes it in one source.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <new>

namespace slip::testing {

/// Allocations that still succeed in a thread that begins now; negative: all do.
inline std::atomic<long> left_in_new_threads{-1};
/// The same of this thread.
inline thread_local long allocations_left = left_in_new_threads;
/// How many were made to fail.
inline std::atomic<long> allocations_failed{0};
/// What operator new has given and nobody has freed.
inline std::atomic<long> allocations_alive{0};

/// Throws std::bad_alloc if it is this allocation's turn; the next ones succeed.
inline void fail_in_turn() {
    if (allocations_left == 0) {
        allocations_left = -1;
        ++allocations_failed;
        throw std::bad_alloc();
    }
    if (allocations_left > 0) --allocations_left;
}

/// The allocation to fail after number `n`, where each time takes long: each of the first sixty,
/// and then some of those that are alike, a mask's or its node's.
inline long next_to_fail(long n) { return n < 60 ? n + 1 : n + 13; }

/// What comes of `call` if its allocation number `n`, from 0, fails.
enum class Outcome { has_fewer, does_without, fails };
template <class Call>
Outcome outcome_at(long n, const Call& call) {
    allocations_left = n;
    try {
        call();
    } catch (const std::bad_alloc&) {
        return Outcome::fails;
    }
    const bool has_fewer = allocations_left >= 0;
    allocations_left = -1;
    return has_fewer ? Outcome::has_fewer : Outcome::does_without;
}

/// What `call` returns in a thread of its own. A hang, which nothing could end, ends the program.
template <class Call>
auto in_time(const Call& call) {
    auto result = std::async(std::launch::async, call);
    if (result.wait_for(std::chrono::minutes(2)) != std::future_status::ready) {
        ADD_FAILURE() << "the call waits for what nobody makes";
        std::_Exit(1);
    }
    return result.get();
}

}  // namespace slip::testing

void* operator new(std::size_t size) {
    slip::testing::fail_in_turn();
    void* const memory = std::malloc(size > 0 ? size : 1);
    if (memory == nullptr) throw std::bad_alloc();
    ++slip::testing::allocations_alive;
    return memory;
}
void operator delete(void* memory) noexcept {
    if (memory != nullptr) --slip::testing::allocations_alive;
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }
