// Memory for secrets: own pages, not in core dumps, locked as far as the system allows.
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/pages.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "property_tests/generators/memory_flags.hpp"

namespace slip::base {
namespace {

using testing::has, testing::flags_at, testing::may_lock, testing::own_pages;

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) ++count;
    return count;
}

/// A system has 65,530 mappings for a process, and a stock of masks has more buffers than that.
TEST(SecretMemory, MASK_9_thousands_of_masks_are_few_mappings) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    for (const Children children : {Children::remember, Children::forget}) {
        const std::size_t before = mappings();
        std::vector<SecretBuffer<std::uint8_t>> masks;
        masks.reserve(4000);
        for (int i = 0; i < 4000; ++i) masks.emplace_back(10240, children);
        EXPECT_LT(mappings(), before + 100);
        EXPECT_EQ(has(flags_at(masks[2000].data()), "wf"), children == Children::forget);
    }
}

/// Runs of every number of pages, from two threads, come back in an order that has nothing to do
/// with that of taking.
TEST(SecretMemory, MASK_6_memory_that_comes_back_is_zero_and_nobody_elses) {
    const auto use = [](std::uint8_t mark) {
        std::mt19937_64 random(mark);
        std::vector<SecretBuffer<std::uint8_t>> held;
        for (int round = 0; round < 3000; ++round) {
            const std::size_t size = 1 + random() % (random() % 8 == 0 ? 400000 : 20000);
            held.emplace_back(size, random() % 2 == 0 ? Children::remember : Children::forget);
            auto& newest = held.back();
            for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
                ASSERT_EQ(newest[at], 0);
                newest[at] = mark;
            }
            if (held.size() < 40) continue;
            std::swap(held[random() % held.size()], held.back());
            for (const std::size_t at : {std::size_t{0}, held.back().size() / 2}) {
                ASSERT_EQ(held.back()[at], mark);
            }
            held.pop_back();
        }
    };
    std::thread other(use, std::uint8_t{1});
    use(2);
    other.join();
}

/// What a stock gives up is the system's again: its limit is one of memory.
TEST(SecretMemory, MASK_9_memory_of_many_masks_goes_back_to_the_system) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    const auto resident = [] {
        std::ifstream statm("/proc/self/statm");
        std::size_t size = 0;
        std::size_t pages = 0;
        statm >> size >> pages;
        return pages * 4096;
    };
    std::vector<SecretBuffer<std::uint8_t>> masks;
    masks.reserve(4000);
    const std::size_t before = resident();
    for (int i = 0; i < 4000; ++i) masks.emplace_back(10240, Children::forget);
    EXPECT_GT(resident(), before + std::size_t{4000} * 10240);
    masks.clear();
    EXPECT_LT(resident(), before + (std::size_t{4} << 20));
}

long page_faults() {
    rusage used{};
    ::getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt;
}

/// New pages from the system take longer than what is written there.
TEST(SecretMemory, MASK_9_masks_of_one_size_leave_their_pages_to_those_of_another) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    const std::size_t page = page_size();
    const auto add = [&](std::size_t pages, int count, auto& masks) {
        masks.reserve(masks.size() + static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) masks.emplace_back(pages * page, Children::forget);
    };
    std::vector<SecretBuffer<std::uint8_t>> masks, larger;
    add(3, 4000, masks);
    add(4, 330, larger);
    larger.clear();
    masks.resize(3600);
    const long before = page_faults();
    add(4, 300, larger);
    for (auto& mask : larger) mask[0] = 1;
    EXPECT_EQ(page_faults(), before);
}

/// A system call for each would take longer than to make a mask.
TEST(SecretMemory, MASK_9_many_masks_are_few_system_calls) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    const SecretBuffer<std::uint8_t> first(5000, Children::forget);
    const void* place = nullptr;
    const long before = page_faults();
    for (int i = 0; i < 1000; ++i) {
        const SecretBuffer<std::uint8_t> mask(5000, Children::forget);
        EXPECT_TRUE(place == nullptr || mask.data() == place);
        place = mask.data();
    }
    EXPECT_LT(page_faults() - before, 100);
}

TEST(SecretMemory, THREAT_3_a_secret_is_in_no_core_dump_and_locked) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    const std::vector<char> plain(100);
    EXPECT_FALSE(has(flags_at(plain.data()), "dd"));
    EXPECT_FALSE(has(flags_at(plain.data()), "lo"));
    for (const std::size_t size : {std::size_t{1}, std::size_t{32}, std::size_t{300000}}) {
        SecretBuffer<std::uint8_t> secret(size);
        for (const std::size_t at : {std::size_t{0}, size - 1}) {
            EXPECT_EQ(secret[at], 0);
            const std::string flags = flags_at(secret.data() + at);
            EXPECT_TRUE(has(flags, "dd")) << flags;
            EXPECT_TRUE(has(flags, "lo") || !may_lock()) << flags;
        }
    }
}

/// A child inherits mappings, and no locks.
TEST(SecretMemory, THREAT_3_a_secret_of_a_forked_child_is_locked) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    if (!may_lock()) GTEST_SKIP() << "no memory may be locked here";
    std::vector<SecretBuffer<std::uint8_t>> parents;
    parents.reserve(4);
    for (int i = 0; i < 4; ++i) parents.emplace_back(5000);
    parents.pop_back();
    const pid_t child = ::fork();
    if (child == 0) {
        const SecretBuffer<std::uint8_t> secret(5000);
        ::_exit(has(flags_at(secret.data()), "lo") ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(SecretMemory, THREAT_3_factors_are_in_no_core_dump_until_they_are_freed) {
    if (!own_pages) GTEST_SKIP() << "a sanitizer's allocator";
    for (const std::size_t size : {std::size_t{5000}, std::size_t{3} << 20}) {
        const std::int8_t* place = nullptr;
        {
            const HugeBuffer buffer(size, HugeBuffer::InDumps::no);
            place = buffer.data();
            EXPECT_TRUE(has(flags_at(place), "dd"));
            EXPECT_TRUE(has(flags_at(place + size - 1), "dd"));
        }
        EXPECT_FALSE(has(flags_at(place), "dd")) << "others get it";
        EXPECT_FALSE(has(flags_at(HugeBuffer(size).data()), "dd"));
    }
}

/// For a child process: gives up its capabilities and RLIMIT_MEMLOCK, then uses a secret. Returns
/// 0, or the number of the step that failed.
int without_locked_memory() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct data[2]{};
    if (::syscall(SYS_capset, &header, data) != 0) return 2;
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_MEMLOCK, &none) != 0) return 3;
    if (may_lock()) return 4;
    if (secrets_may_be_swapped()) return 5;
    SecretBuffer<std::uint32_t> secret(100000);
    secret[99999] = 7;
    const std::string flags = flags_at(secret.data());
    if (secret[99999] != 7 || has(flags, "lo") || !has(flags, "dd")) return 6;
    return secrets_may_be_swapped() ? 0 : 7;
}

TEST(SecretMemory, THREAT_3_secrets_are_usable_if_the_system_refuses_to_lock_them) {
    if (!own_pages || secrets_may_be_swapped()) GTEST_SKIP() << "no memory is locked here";
    const pid_t child = ::fork();
    if (child == 0) ::_exit(without_locked_memory());
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

}  // namespace
}  // namespace slip::base
