// Files that are written over a long time, and locks.
#include "optimized/base/files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>
#include <string>

#include "optimized/base/error.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace slip::base {
namespace {

/// Who may write into a folder may leave a link there; what it points to is not the split's to
/// touch.
TEST(Files, THREAT_2_a_link_in_the_place_of_a_file_is_not_followed) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    const auto link = folder / "link";
    const auto dangling = folder / "dangling";
    write_file(target, "contents", 0600);
    std::filesystem::create_symlink(target, link);
    std::filesystem::create_symlink(folder / "nothing", dangling);
    EXPECT_NO_THROW(FixedFile(target, 8, 0600));
    EXPECT_NO_THROW(FileLock{target});
    for (const auto& path : {link, dangling}) {
        EXPECT_THROW(FixedFile(path, 8, 0600), BadInput);
        EXPECT_THROW(FileLock{path}, BadInput);
    }
    EXPECT_EQ(read_file(target), "contents");
    EXPECT_FALSE(std::filesystem::exists(folder / "nothing"));
}

// ---- files under construction

using Existing = StagedFile::Existing;

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

std::set<std::string> names_in(const testing::TemporaryFolder& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

/// From now on this process's file systems know no O_TMPFILE.
bool forbid_files_without_names() {
    sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
                            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
                            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{sizeof filter / sizeof *filter, filter};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// The end of a child process that does `work`; killed where that asks for it.
int end_of_child(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            work();
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

void write_and_be_killed(const std::filesystem::path& target) {
    StagedFile file(target, Existing::replace);
    file.append(bytes_of("half of it"));
    ::kill(::getpid(), SIGKILL);
}

TEST(StagedFiles, are_whole_or_absent) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    { StagedFile(target, Existing::refuse).append(bytes_of("not committed")); }
    EXPECT_EQ(names_in(folder), std::set<std::string>{});
    for (const std::string text : {"first", "second"}) {
        StagedFile file(target, Existing::replace);
        file.append(bytes_of(text));
        file.commit();
        EXPECT_EQ(read_file(target), text);
        EXPECT_EQ(testing::permissions_of(target), 0600U);
    }
    EXPECT_THROW(StagedFile(target, Existing::refuse), BadInput);
    EXPECT_EQ(names_in(folder), std::set<std::string>{"target"});
}

TEST(StagedFiles, one_that_appears_meanwhile_is_not_replaced_where_none_may_stand) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    {
        StagedFile file(target, Existing::refuse);
        write_file(target, "another's", 0600);
        EXPECT_THROW(file.commit(), BadInput);
    }
    EXPECT_EQ(read_file(target), "another's");
    EXPECT_EQ(names_in(folder), std::set<std::string>{"target"});
}

TEST(StagedFiles, nothing_stays_of_one_whose_process_is_killed) {
    const testing::TemporaryFolder folder;
    const int end = end_of_child([&] { write_and_be_killed(folder / "target"); });
    EXPECT_TRUE(WIFSIGNALED(end));
    EXPECT_EQ(names_in(folder), std::set<std::string>{});
}

TEST(StagedFiles, where_files_need_names_the_next_one_removes_what_a_killed_process_left) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    const int killed = end_of_child([&] {
        if (forbid_files_without_names()) write_and_be_killed(target);
    });
    EXPECT_TRUE(WIFSIGNALED(killed)) << "no filter of system calls";
    EXPECT_EQ(names_in(folder), std::set<std::string>{".target.partial-0"});
    const int next = end_of_child([&] {
        forbid_files_without_names();
        StagedFile file(target, Existing::refuse);
        if (names_in(folder) != std::set<std::string>{".target.partial-0"}) ::_exit(2);
        file.append(bytes_of("whole"));
        file.commit();
    });
    EXPECT_EQ(next, 0);
    EXPECT_EQ(names_in(folder), std::set<std::string>{"target"});
    EXPECT_EQ(read_file(target), "whole");
}

/// What must stay: a living process's file, and what was never a StagedFile.
TEST(StagedFiles, only_what_nobody_holds_is_removed) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    write_file(folder / ".target.partial-old", "left", 0600);
    write_file(folder / ".target.partial-held", "alive", 0600);
    write_file(folder / ".other.partial-0", "of another target", 0600);
    write_file(folder / "precious", "linked to", 0600);
    std::filesystem::create_symlink(folder / "precious", folder / ".target.partial-link");
    std::filesystem::create_directory(folder / ".target.partial-folder");
    ASSERT_EQ(::mkfifo((folder / ".target.partial-fifo").c_str(), 0600), 0);
    const FileLock held(folder / ".target.partial-held");
    StagedFile(target, Existing::replace).commit();
    EXPECT_EQ(names_in(folder),
              (std::set<std::string>{".target.partial-held", ".other.partial-0", "precious",
                                     ".target.partial-link", ".target.partial-folder",
                                     ".target.partial-fifo", "target"}));
}

TEST(StagedFiles, two_at_one_time_do_not_meet) {
    const testing::TemporaryFolder folder;
    const auto target = folder / "target";
    const int end = end_of_child([&] {
        forbid_files_without_names();
        StagedFile one(target, Existing::replace);
        StagedFile two(target, Existing::replace);
        one.append(bytes_of("one"));
        two.append(bytes_of("two"));
        one.commit();
        if (read_file(target) != "one") ::_exit(2);
        two.commit();
    });
    EXPECT_EQ(end, 0);
    EXPECT_EQ(read_file(target), "two");
    EXPECT_EQ(names_in(folder), std::set<std::string>{"target"});
}

}  // namespace
}  // namespace slip::base
