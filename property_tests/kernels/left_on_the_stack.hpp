// What a kernel leaves of secrets on its stack.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace slip::testing {

/// Runs `work` on a stack of its own and returns the bytes that it leaves there.
template <class Work>
std::vector<std::byte> left_on_the_stack(const Work& work) {
    std::vector<std::byte> stack(std::size_t{1} << 21);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    EXPECT_EQ(::pthread_attr_setstack(&attributes, stack.data(), stack.size()), 0);
    const auto run = [](void* argument) -> void* {
        // The end of the thread uses the first of its stack again, so `work` begins beneath that.
        [[maybe_unused]] volatile char not_looked_at[16384] = {};
        (*static_cast<const Work*>(argument))();
        return nullptr;
    };
    pthread_t thread{};
    EXPECT_EQ(::pthread_create(&thread, &attributes, run, const_cast<Work*>(&work)), 0);
    EXPECT_EQ(::pthread_join(thread, nullptr), 0);
    ::pthread_attr_destroy(&attributes);
    return stack;
}

/// A function that wipes nothing.
[[gnu::noinline]] inline void leave_on_the_stack(std::int32_t number) {
    volatile std::int32_t numbers[4];
    for (volatile std::int32_t& each : numbers) each = number;
}

/// Whether `bytes` hold these numbers, one behind the other.
template <class T>
bool hold(const std::vector<std::byte>& bytes, const std::vector<T>& numbers) {
    const auto wanted = std::as_bytes(std::span(numbers));
    return std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end()) != bytes.end();
}

}  // namespace slip::testing
