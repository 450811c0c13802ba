// INTEG-7 for one artifact on one host: one count of rejects, whatever the peer, the process and
// the session. It is in the file `rejects` of the state folder (state_folder.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "optimized/base/disk.hpp"
#include "optimized/protocol/reject_limiter.hpp"

namespace slip::protocol {

/// The time of a host: it never goes back while the host runs, and begins anew when it restarts.
struct HostTime {
    /// Since the start of the host, by the monotonic clock.
    std::function<std::chrono::nanoseconds()> now = system_now;
    /// Another 36 characters after every restart.
    std::function<std::string()> boot = system_boot;

    static std::chrono::nanoseconds system_now();
    /// Throws BadInput if the system does not say.
    static std::string system_boot();
};

/// How long folders are waited for that cannot hold a count. Safe to share by threads.
class DelaysInMemory {
public:
    static DelaysInMemory& of_process();
    /// When a session may be opened: 64 s after `now` at the first call for a folder, and later the
    /// same.
    std::chrono::nanoseconds allowed_from(const std::filesystem::path& folder,
                                          std::chrono::nanoseconds now);
    /// 64 s after `now`, from now on.
    void restart(const std::filesystem::path& folder, std::chrono::nanoseconds now);

private:
    std::mutex mutex_;
    std::map<std::filesystem::path, std::chrono::nanoseconds> allowed_from_;
};

class RejectsOnDisk : public RejectLimiter {
public:
    static constexpr const char* file_name = "rejects";
    /// The file of an artifact none of whose replies was ever rejected.
    static std::string no_rejects();

    /// `folder` is the state folder. Nothing is opened yet.
    explicit RejectsOnDisk(std::filesystem::path folder, HostTime time = {},
                           base::Disk& disk = base::Disk::of_system(),
                           DelaysInMemory& memory = DelaysInMemory::of_process());

    struct Wait {
        std::chrono::nanoseconds left{};  // at most 64 s, and not negative
        std::string trouble;              // why the count cannot be kept; empty if it can
    };
    /// How long until a session may be opened. After r rejects it is 1, 2, 4, ..., 64 s from the
    /// last; after a restart of the host with r > 0, 64 s from the restart. A count that is
    /// damaged, or missing from its folder, is set to 7 as if the seventh reject were now. Where it
    /// cannot be read or written it is 64 s from this process's first call, and from each reject.
    Wait wait() const;

    /// See wait(). The peer does not matter: his names may be aliases.
    void require_allowed(const std::string& peer) const override;
    /// On the disk when it returns. If the disk refuses, the file is removed, so that other
    /// processes find it missing, and this process remembers.
    void record_reject(const std::string& peer) noexcept override;

private:
    struct Record {
        std::uint64_t count = 0;
        std::string boot;
        std::chrono::nanoseconds at{};  // the last reject
    };
    static std::string text_of(const Record& record);
    static std::optional<Record> record_in(const std::string& text);

    base::OpenFile open_locked() const;
    std::optional<Record> read(const base::OpenFile& file) const;
    void write(const base::OpenFile& file, const Record& record) const;
    Record read_or_restart(const base::OpenFile& file) const;
    std::chrono::nanoseconds left_by_file() const;

    std::filesystem::path folder_;
    HostTime time_;
    base::Disk& disk_;
    DelaysInMemory& memory_;
};

}  // namespace slip::protocol
