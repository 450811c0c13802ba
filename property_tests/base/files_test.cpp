// Files that are written over a long time, and locks.
#include "optimized/base/files.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "optimized/base/error.hpp"
#include "property_tests/generators/temporary_directory.hpp"

namespace slip::base {
namespace {

/// Who may write into a folder may leave a link there; what it points to is not the split's to
/// touch.
TEST(Files, THREAT_2_a_link_in_the_place_of_a_file_is_not_followed) {
    const testing::TemporaryDirectory directory;
    const auto target = directory / "target";
    const auto link = directory / "link";
    const auto dangling = directory / "dangling";
    write_file(target, "contents", 0600);
    std::filesystem::create_symlink(target, link);
    std::filesystem::create_symlink(directory / "nothing", dangling);
    EXPECT_NO_THROW(FixedFile(target, 8, 0600));
    EXPECT_NO_THROW(FileLock{target});
    for (const auto& path : {link, dangling}) {
        EXPECT_THROW(FixedFile(path, 8, 0600), BadInput);
        EXPECT_THROW(FileLock{path}, BadInput);
    }
    EXPECT_EQ(read_file(target), "contents");
    EXPECT_FALSE(std::filesystem::exists(directory / "nothing"));
}

}  // namespace
}  // namespace slip::base
