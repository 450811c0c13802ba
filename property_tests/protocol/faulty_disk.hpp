// Disks that fail, processes that end in the middle of their work, and power that fails.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "optimized/base/disk.hpp"

namespace slip::fixture {

/// What happens at one call of a disk.
enum class Fault {
    none,
    end_before,  // the process ends before the call
    end_after,   // ... and after it
    power_loss,  // after the call unflushed changes are undone, and the process ends
    no_space,    // the call fails
    broken
};

/// A disk with `fault` at call number `at`. A loss of power undoes all unflushed names and
/// contents.
class FaultyDisk : public base::Disk {
public:
    static constexpr int ended = 77;  // the exit status of a process that a fault ends
    /// Suffix of unlinked files, which a loss of power restores.
    static constexpr const char* unlinked = ".unlinked";

    FaultyDisk(Fault fault, std::size_t at) : fault_(fault), at_(at) {}

    /// Whether the call with the fault has been reached.
    bool happened() const { return calls_ > at_; }

    int open(const std::filesystem::path& path, int flags, mode_t mode) override {
        const bool creates = (flags & O_CREAT) != 0 && !std::filesystem::exists(path);
        const int opened = step([&] { return Disk::open(path, flags, mode); });
        if (opened < 0) return opened;
        paths_[opened] = path;
        if (creates) unflushed_.push_back({path, [path] { ::unlink(path.c_str()); }});
        return opened;
    }
    ssize_t write(int descriptor, std::span<const std::byte> bytes, std::size_t offset) override {
        const std::string before = contents_of(paths_[descriptor]);
        return step([&] { return Disk::write(descriptor, bytes, offset); },
                    [&] { contents_.try_emplace(descriptor, before); });
    }
    ssize_t read(int descriptor, std::span<std::byte> bytes, std::size_t offset) override {
        return step([&] { return Disk::read(descriptor, bytes, offset); });
    }
    int truncate(int descriptor, std::size_t size) override {
        const std::string before = contents_of(paths_[descriptor]);
        return step([&] { return Disk::truncate(descriptor, size); },
                    [&] { contents_.try_emplace(descriptor, before); });
    }
    int sync(int descriptor) override {
        return step([&] { return Disk::sync(descriptor); }, [&] { flushed(descriptor); });
    }
    int lock(int descriptor, bool wait) override {
        return step([&] { return Disk::lock(descriptor, wait); });
    }
    int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
        return step(
            [&] { return Disk::rename(from, to); },
            [&] {
                unflushed_.push_back({to, [from, to] { ::rename(to.c_str(), from.c_str()); }});
            });
    }
    int unlink(const std::filesystem::path& path) override {
        std::filesystem::path kept = path;
        kept += unlinked;
        return step([&] { return Disk::rename(path, kept); },
                    [&] {
                        unflushed_.push_back(
                            {path, [kept, path] { ::rename(kept.c_str(), path.c_str()); }});
                    });
    }
    int make_folder(const std::filesystem::path& path, mode_t mode) override {
        return step([&] { return Disk::make_folder(path, mode); },
                    [&] {
                        unflushed_.push_back({path, [path] { std::filesystem::remove_all(path); }});
                    });
    }

private:
    struct Change {
        std::filesystem::path path;
        std::function<void()> undo;
    };

    /// Makes a call, and notes it if it succeeded.
    template <class Call, class Note = void (*)()>
    std::invoke_result_t<Call> step(
        const Call& call, const Note& note = [] {}) {
        const bool now = calls_++ == at_;
        if (now && fault_ == Fault::end_before) ::_exit(ended);
        if (now && (fault_ == Fault::no_space || fault_ == Fault::broken)) {
            errno = fault_ == Fault::no_space ? ENOSPC : EIO;
            return -1;
        }
        const auto result = call();
        const int reason = errno;
        if (result >= 0) note();
        if (now && fault_ == Fault::power_loss) lose_power();
        if (now && fault_ == Fault::end_after) ::_exit(ended);
        errno = reason;
        return result;
    }
    void flushed(int descriptor) {
        contents_.erase(descriptor);
        const std::filesystem::path folder = paths_[descriptor];
        std::erase_if(unflushed_,
                      [&](const Change& change) { return change.path.parent_path() == folder; });
    }
    [[noreturn]] void lose_power() {
        for (const auto& [descriptor, before] : contents_) {
            const bool open = ::ftruncate(descriptor, 0) == 0;
            const int file =
                open ? descriptor : ::open(paths_[descriptor].c_str(), O_WRONLY | O_TRUNC);
            if (::pwrite(file, before.data(), before.size(), 0) < 0) ::abort();
        }
        for (auto change = unflushed_.rbegin(); change != unflushed_.rend(); ++change) {
            change->undo();
        }
        ::_exit(ended);
    }
    static std::string contents_of(const std::filesystem::path& path) {
        const int file = ::open(path.c_str(), O_RDONLY);
        std::string text(1 << 16, '\0');
        const ssize_t size = file < 0 ? 0 : ::read(file, text.data(), text.size());
        if (file >= 0) ::close(file);
        text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return text;
    }

    const Fault fault_;
    const std::size_t at_;
    std::size_t calls_ = 0;
    std::map<int, std::filesystem::path> paths_;
    std::map<int, std::string> contents_;  // of files before their unflushed writes
    std::vector<Change> unflushed_;        // changes of folders
};

/// Runs `work` in a process of its own. `work` reports its progress in single characters. Returns
/// these characters, followed by '.' if the work ended, '!' if a fault ended it, '?' otherwise.
inline std::string said_by(const std::function<void(const std::function<void(char)>&)>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        try {
            work([&](char c) {
                if (::write(ends[1], &c, 1) != 1) ::_exit(1);
            });
        } catch (...) {
            ::_exit(1);
        }
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string said;
    for (char c = 0; ::read(ends[0], &c, 1) == 1;) said.push_back(c);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    const bool exited = WIFEXITED(status);
    if (exited && WEXITSTATUS(status) == 0) return said + '.';
    return said + (exited && WEXITSTATUS(status) == FaultyDisk::ended ? '!' : '?');
}

}  // namespace slip::fixture
