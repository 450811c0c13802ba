// Progress of long work, on stderr.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace slip::tool {

/// Says nothing during the first second. After that a terminal shows one line that is rewritten in
/// place, and anything else gets a line every ten seconds: how many are done, the seconds so far,
/// and how many more it takes at that pace.
class Progress {
public:
    /// `what` begins the line, e.g. "slip eval: tokens".
    explicit Progress(std::string what);
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    /// Leaves the terminal's line empty.
    ~Progress();

    /// Without `fraction`, the share of the work that is done is done / total.
    void update(std::uint64_t done, std::uint64_t total);
    void update(std::uint64_t done, std::uint64_t total, double fraction);

private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    bool terminal_;
    bool shown_ = false;
    Clock::time_point begin_;
    Clock::time_point next_;
    std::optional<double> begin_fraction_;  // what was done at the first update
};

}  // namespace slip::tool
