// What administrators read of a server while it runs, a line per event.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "programs/slip/support/options.hpp"

namespace slip::tool {

/// Lines on stderr: as text "slip NAME: time=2026-01-31T12:00:00Z peer=ADDRESS reason=\"TEXT\"", or
/// as JSON objects with the same names. From any thread. Nobody waits for who reads them: lines
/// that a pipe has no room for are left out, and counted in the field unread of the next one.
class EventLog {
public:
    enum class Format { text, json };
    using Value = std::variant<std::string, double, std::uint64_t>;
    using Fields = std::vector<std::pair<std::string, Value>>;
    static constexpr std::uint64_t burst = 50;

    /// `name` is the command's.
    explicit EventLog(const char* name, Format format = Format::text)
        : name_(name), format_(format) {}
    EventLog(const EventLog&) = delete;
    EventLog& operator=(const EventLog&) = delete;
    ~EventLog();

    void add(const Fields& fields);
    /// What a peer may cause as often as he likes: no more than `burst` come at once and one per
    /// second after that; the field suppressed counts the others.
    void add_limited(const Fields& fields);

private:
    using Clock = std::chrono::steady_clock;
    bool may_write();
    void write(const Fields& fields);
    void write_line(const Fields& fields) const;
    void write_suppressed();

    const std::string name_;
    const Format format_;
    std::mutex mutex_;
    std::uint64_t allowed_ = burst;
    Clock::time_point refilled_ = Clock::now();
    std::uint64_t suppressed_ = 0;
    std::uint64_t unread_ = 0;
};

/// --log-format.
void add_log_flags(Options& options);
EventLog::Format log_format(const Options& options);

}  // namespace slip::tool
