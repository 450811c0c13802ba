// INTEG-7 from process to process: one count per artifact, on the disk before ABORT is sent.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/protocol/rejects_on_disk.hpp"
#include "optimized/protocol/state_folder.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "property_tests/protocol/faulty_disk.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A host with one artifact; the test sets its clock and its restarts.
struct Host {
    Host() { digest.fill(7); }

    HostTime clock() {
        return {[this] { return now; }, [this] { return boot; }};
    }
    /// As another process sees it: nothing is in memory.
    RejectsOnDisk process(base::Disk& disk = base::Disk::of_system()) {
        memories.push_back(std::make_unique<DelaysInMemory>());
        return RejectsOnDisk(open_state_folder(folder / "state", digest), clock(), disk,
                             *memories.back());
    }
    std::chrono::nanoseconds left() { return process().wait().left; }
    void reject() { process().record_reject("david"); }
    void restart() {
        boot[0] = boot[0] == 'a' ? 'b' : 'a';
        now = 0s;
    }
    fs::path file() { return open_state_folder(folder / "state", digest) / "rejects"; }

    testing::TemporaryDirectory folder;
    Digest digest{};
    std::chrono::nanoseconds now = 1000s;
    std::string boot = "a0000000-0000-0000-0000-000000000000";
    std::vector<std::unique_ptr<DelaysInMemory>> memories;
};

TEST(RejectsOnDisk, INTEG_7_the_first_use_of_an_artifact_waits_for_nothing) {
    Host host;
    EXPECT_EQ(host.left(), 0s);
    EXPECT_EQ(host.process().wait().trouble, "");
    EXPECT_NO_THROW(host.process().require_allowed("david"));
}

TEST(RejectsOnDisk, INTEG_7_the_delay_doubles_from_1_to_64_seconds_over_all_processes_and_peers) {
    Host host;
    for (const int delay : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
        host.process().record_reject("host:" + std::to_string(delay));
        EXPECT_EQ(host.left(), std::chrono::seconds(delay));
        EXPECT_THROW(host.process().require_allowed("another"), ProtocolError);
        host.now += std::chrono::seconds(delay) - 1ns;
        EXPECT_EQ(host.left(), 1ns);
        host.now += 1ns;
        EXPECT_NO_THROW(host.process().require_allowed("another"));
        host.now += 10h;  // time ends the wait but does not reset the count
    }
}

TEST(RejectsOnDisk, INTEG_7_another_artifact_has_a_count_of_its_own) {
    Host host;
    host.reject();
    host.digest[0] ^= 1;
    EXPECT_EQ(host.left(), 0s);
}

TEST(RejectsOnDisk, INTEG_7_after_a_restart_of_the_host_the_whole_delay_begins_again) {
    Host host;
    host.restart();
    EXPECT_EQ(host.left(), 0s) << "nothing was rejected";
    host.reject();
    host.now += 10h;
    EXPECT_EQ(host.left(), 0s);
    host.restart();
    EXPECT_EQ(host.left(), 64s);
    host.now = 63s;
    EXPECT_EQ(host.left(), 1s);
    host.now = 64s;
    EXPECT_EQ(host.left(), 0s);
    host.reject();
    EXPECT_EQ(host.left(), 2s) << "the count goes on";
}

/// A missing or unreadable count is unknown, and so taken as the greatest.
TEST(RejectsOnDisk, INTEG_7_a_damaged_or_missing_count_means_64_seconds_once) {
    const std::string whole = RejectsOnDisk::no_rejects();
    std::vector<std::string> damaged{"", "x", whole + "x", whole.substr(1)};
    for (std::size_t at = 0; at < whole.size(); ++at) {
        damaged.push_back(whole);
        damaged.back()[at] = '!';
    }
    for (const std::string& text : damaged) {
        Host host;
        ASSERT_EQ(host.left(), 0s);
        std::ofstream(host.file(), std::ios::trunc) << text;
        EXPECT_EQ(host.left(), 64s) << text;
        EXPECT_EQ(host.process().wait().trouble, "");
        host.now += 30s;
        EXPECT_EQ(host.left(), 34s) << "it does not begin again for every process";
        host.now += 34s;
        EXPECT_EQ(host.left(), 0s);
        host.reject();
        EXPECT_EQ(host.left(), 64s);
    }
    Host host;
    fs::remove(host.file());
    EXPECT_EQ(host.left(), 64s);
}

TEST(RejectsOnDisk, INTEG_7_an_instant_that_has_not_come_means_64_seconds) {
    Host host;
    host.reject();
    host.now -= 500s;
    EXPECT_EQ(host.left(), 64s);
    host.now += 64s;
    EXPECT_EQ(host.left(), 0s);
}

/// The process keeps the count in memory, and reports the reason.
TEST(RejectsOnDisk, INTEG_7_a_count_that_cannot_be_kept_means_64_seconds_per_process) {
    for (const Fault fault : {Fault::no_space, Fault::broken}) {
        Host host;
        FaultyDisk disk(fault, 0);
        const RejectsOnDisk process = host.process(disk);
        const auto wait = process.wait();
        EXPECT_EQ(wait.left, 64s);
        EXPECT_NE(wait.trouble.find("rejects: cannot be opened"), std::string::npos);
    }
    Host host;
    const fs::path folder = host.file().parent_path();
    fs::remove_all(folder);
    DelaysInMemory memory;
    RejectsOnDisk process(folder, host.clock(), base::Disk::of_system(), memory);
    EXPECT_EQ(process.wait().left, 64s);
    host.now += 64s;
    EXPECT_EQ(process.wait().left, 0s);
    EXPECT_NE(process.wait().trouble, "");
    process.record_reject("david");
    EXPECT_EQ(process.wait().left, 64s);
    EXPECT_EQ(RejectsOnDisk(folder, host.clock(), base::Disk::of_system(), memory).wait().left,
              64s);
}

TEST(RejectsOnDisk, INTEG_7_a_host_without_a_name_for_its_start_means_64_seconds) {
    Host host;
    HostTime clock = host.clock();
    clock.boot = []() -> std::string { throw BadInput("boot_id: cannot be read"); };
    DelaysInMemory memory;
    const RejectsOnDisk process(host.file().parent_path(), clock, base::Disk::of_system(), memory);
    EXPECT_EQ(process.wait().left, 64s);
}

TEST(RejectsOnDisk, INTEG_7_this_host_names_its_start_and_its_time_rises) {
    EXPECT_EQ(HostTime::system_boot().size(), 36U);
    EXPECT_EQ(HostTime::system_boot(), HostTime::system_boot());
    const auto now = HostTime::system_now();
    EXPECT_LE(now, HostTime::system_now());
}

TEST(RejectsOnDisk, INTEG_7_parallel_processes_count_every_reject) {
    Host host;
    host.now = 1000s;
    ASSERT_EQ(host.left(), 0s);
    int start[2];
    ASSERT_EQ(::pipe(start), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 6; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            char c = 0;
            ::close(start[1]);
            if (::read(start[0], &c, 1) != 0) ::_exit(1);
            host.reject();
            ::_exit(0);
        }
        children.push_back(child);
    }
    ::close(start[0]);
    ::close(start[1]);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    EXPECT_EQ(host.left(), 32s);
}

// ---- a fault at every call

TEST(RejectsOnDiskFaults, INTEG_7_a_recorded_reject_outlives_the_process_and_the_power) {
    for (const Fault fault : {Fault::end_before, Fault::end_after, Fault::power_loss}) {
        for (std::size_t at = 0;; ++at) {
            Host host;
            ASSERT_EQ(host.left(), 0s);
            const std::string said = said_by([&](const auto& say) {
                FaultyDisk disk(fault, at);
                host.process(disk).record_reject("david");
                say('A');              // ABORT
                disk.read(-1, {}, 0);  // and then the power may fail
                if (!disk.happened()) say('-');
            });
            SCOPED_TRACE(::testing::Message() << static_cast<int>(fault) << " at " << at << said);
            ASSERT_EQ(said.back(), said.find('-') == std::string::npos ? '!' : '.');
            const auto left = host.left();
            EXPECT_TRUE(left == 1s || (said[0] != 'A' && (left == 0s || left == 64s)));
            if (said.find('-') != std::string::npos) break;
        }
    }
}

/// The folders that were made on the way are on the disk too: without them there is no count, and
/// an artifact without one is new.
TEST(RejectsOnDiskFaults, INTEG_7_a_reject_at_the_first_use_outlives_the_power) {
    for (std::size_t at = 0;; ++at) {
        Host host;
        const std::string said = said_by([&](const auto& say) {
            FaultyDisk disk(Fault::power_loss, at);
            DelaysInMemory memory;
            const auto folder = open_state_folder(host.folder / "a/b", host.digest, disk);
            RejectsOnDisk(folder, host.clock(), disk, memory).record_reject("david");
            say('A');              // ABORT
            disk.read(-1, {}, 0);  // and then the power may fail
            if (!disk.happened()) say('-');
        });
        SCOPED_TRACE(::testing::Message() << at << said);
        ASSERT_EQ(said.back(), said.find('-') == std::string::npos ? '!' : '.');
        const auto folder = open_state_folder(host.folder / "a/b", host.digest);
        DelaysInMemory memory;
        const auto left =
            RejectsOnDisk(folder, host.clock(), base::Disk::of_system(), memory).wait().left;
        EXPECT_TRUE(left == 1s || (said[0] != 'A' && left == 0s));
        if (said.find('-') != std::string::npos) break;
    }
}

TEST(RejectsOnDiskFaults,
     INTEG_7_a_reject_that_cannot_be_recorded_delays_other_processes_all_the_same) {
    for (const Fault fault : {Fault::no_space, Fault::broken}) {
        for (std::size_t at = 0;; ++at) {
            Host host;
            ASSERT_EQ(host.left(), 0s);
            FaultyDisk disk(fault, at);
            RejectsOnDisk process = host.process(disk);
            process.record_reject("david");
            EXPECT_GE(host.left(), 1s) << at;
            EXPECT_GE(process.wait().left, 1s) << at;
            if (!disk.happened()) break;
        }
    }
}

TEST(RejectsOnDiskFaults, INTEG_7_an_end_at_the_first_use_leaves_no_damaged_count) {
    for (const Fault fault : {Fault::end_before, Fault::end_after, Fault::power_loss}) {
        for (std::size_t at = 0;; ++at) {
            Host host;
            const std::string said = said_by([&](const auto& say) {
                FaultyDisk disk(fault, at);
                open_state_folder(host.folder / "state", host.digest, disk);
                if (!disk.happened()) say('-');
            });
            EXPECT_EQ(host.left(), 0s) << static_cast<int>(fault) << " at " << at << said;
            if (said[0] == '-') break;
        }
    }
}

TEST(StateFolder, THREAT_2_only_the_owner_may_use_the_state_folder) {
    Host host;
    const fs::path folder = open_state_folder(host.folder / "a/b", host.digest);
    EXPECT_EQ(folder.filename(), "07070707070707070707070707070707");
    for (const fs::path& made : {folder, folder.parent_path(), host.folder / "a"}) {
        EXPECT_EQ(testing::permissions_of(made), 0700U);
    }
    EXPECT_EQ(testing::permissions_of(folder / "rejects"), 0600U);
    fs::permissions(folder, fs::perms::group_read, fs::perm_options::add);
    EXPECT_THROW(open_state_folder(host.folder / "a/b", host.digest), BadInput);
    fs::rename(folder, host.folder / "elsewhere");
    fs::permissions(host.folder / "elsewhere", fs::perms::owner_all);
    fs::create_directory_symlink(host.folder / "elsewhere", folder);
    EXPECT_THROW(open_state_folder(host.folder / "a/b", host.digest), BadInput) << "a link";
}

/// A user who can write to the folder, or has replaced it with a link, could reset the count.
TEST(StateFolder, INTEG_7_THREAT_2_a_count_that_others_could_change_means_64_seconds) {
    for (const bool linked : {false, true}) {
        Host host;
        const fs::path folder = host.file().parent_path();
        if (linked) {
            fs::rename(folder, host.folder / "elsewhere");
            fs::create_directory_symlink(host.folder / "elsewhere", folder);
        } else {
            fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
        }
        DelaysInMemory memory;
        const RejectsOnDisk process(folder, host.clock(), base::Disk::of_system(), memory);
        EXPECT_EQ(process.wait().left, 64s);
        EXPECT_NE(process.wait().trouble.find("mode 0700"), std::string::npos);
    }
}

// ---- within a session

TEST(RejectsOnDisk, INTEG_7_a_reject_is_on_the_disk_before_ABORT_is_sent) {
    Host host;
    const Model model({{9, 4}}, Fill::random, 1);
    RejectsOnDisk limiter = host.process();
    SessionOptions options = small_pool();
    options.limiter = &limiter;
    const auto david = make_david_session(model.david, tamper_with(0, 0, 1));
    RecordingTransport transport(*david);
    std::vector<std::chrono::nanoseconds> at_sending;
    transport.on_send = [&] { at_sending.push_back(host.left()); };
    CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport, options);
    Random random(2);
    const Columns columns = random_columns(model.matrices[0], 1, Fill::random, random);
    EXPECT_THROW(round(charlie, 0, columns, 9), IntegrityError);
    // HELLO, APPLY, ABORT
    EXPECT_EQ(at_sending, (std::vector<std::chrono::nanoseconds>{0s, 0s, 1s}));
    const auto honest = make_david_session(model.david);
    RecordingTransport another(*honest);
    EXPECT_THROW(
        CharlieSession<kernels::P31>(model.weights(), model.david.digest, another, options),
        ProtocolError);
    EXPECT_TRUE(another.sent.empty());
}

}  // namespace
}  // namespace slip::fixture
