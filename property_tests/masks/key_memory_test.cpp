// The keys of a keystream lie in memory that is locked.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

#include "optimized/masks/keystream.hpp"
#include "property_tests/generators/memory_flags.hpp"

namespace slip::masks {
namespace {

using testing::has, testing::may_lock, testing::own_pages;

TEST(KeyMemory, THREAT_3_a_key_is_locked) {
    if (!own_pages) GTEST_SKIP() << "AddressSanitizer makes nothing of mlock()";
    if (!may_lock()) GTEST_SKIP() << "no memory may be locked here";
    const Keystream keys;
    std::ifstream maps("/proc/self/smaps");
    std::size_t pages = 0;
    std::size_t locked = 0;
    for (std::string line; std::getline(maps, line);) {
        line += " ";
        if (line.rfind("VmFlags:", 0) != 0 || !has(line, "wf")) continue;
        ++pages;
        locked += has(line, "lo");
    }
    EXPECT_GE(pages, 1U);
    EXPECT_EQ(locked, pages);
}

}  // namespace
}  // namespace slip::masks
