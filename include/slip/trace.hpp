// Where the time of a model's runs goes, for a viewer of traces.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// Spans of time of the models that were opened with it (CharlieOptions::trace): who was busy with
/// what, and who waited. It tells when each message went and how many columns it had, which David
/// knows too, and how long Charlie took; never contents. Thread-safe.
class Trace {
public:
    /// The clock of all times.
    using Clock = std::chrono::steady_clock;
    /// Who is busy.
    enum class Track : std::uint8_t {
        charlie = 1,  ///< the thread that runs the model
        david,        ///< from a message's last byte sent to its reply's last byte received
        masks,        ///< the thread that makes masks ahead of use
    };
    /// From when to when somebody was busy with what.
    struct Span {
        Track track;              ///< who
        const char* what;         ///< a name without quotation marks, which outlives the trace
        Clock::time_point begin;  ///< from when
        Clock::time_point end;    ///< to when
        std::uint32_t group;      ///< of the message or the masks (MODEL-6)
        std::size_t columns;      ///< of the message, or the masks' number
    };

    /// Times are told from now on. After `most_spans` spans further ones are only counted.
    explicit Trace(std::size_t most_spans = std::size_t{1} << 20);
    /// One more.
    void add(const Span& span) noexcept;
    /// All spans as a JSON object in Chrome's format, which chrome://tracing and Perfetto show.
    /// Times are microseconds.
    std::string json() const;

private:
    const Clock::time_point start_;
    const std::size_t most_spans_;
    mutable std::mutex mutex_;  // guards the spans and their number
    const std::unique_ptr<Span[]> spans_;
    std::size_t added_ = 0;  // those that were only counted included
};

}  // namespace slip
