// What David's administrator reads of sessions that ended badly.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace slip::tool {

/// Lines on stderr: "slip NAME: time=2026-01-31T12:00:00Z peer=ADDRESS reason=\"TEXT\"". A peer
/// may cause as many as he likes, so no more than `burst` come at once and one per second after
/// that; "suppressed=N" counts the others. One call at a time.
class DavidLog {
public:
    static constexpr std::uint64_t burst = 50;

    /// `name` is the command's.
    explicit DavidLog(const char* name) : name_(name) {}
    DavidLog(const DavidLog&) = delete;
    DavidLog& operator=(const DavidLog&) = delete;
    ~DavidLog() { tell_suppressed(); }

    void tell(const std::string& line);

private:
    using Clock = std::chrono::steady_clock;
    bool may_tell();
    void write(const std::string& fields) const;
    void tell_suppressed();

    const std::string name_;
    std::uint64_t allowed_ = burst;
    Clock::time_point refilled_ = Clock::now();
    std::uint64_t suppressed_ = 0;
};

}  // namespace slip::tool
