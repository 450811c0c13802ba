#include "programs/slip/david_log.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <iostream>

#include "programs/slip/printable.hpp"

namespace slip::tool {
namespace {

/// In UTC, as RFC 3339 writes it.
std::string time_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace

void DavidLog::write(const std::string& fields) const {
    std::cerr << "slip " + name_ + ": time=" + time_now() + " " + printable(fields) + "\n"
              << std::flush;
    std::cerr.clear();  // a reader who is gone may be followed by another
}

bool DavidLog::may_tell() {
    const auto passed = std::chrono::floor<std::chrono::seconds>(Clock::now() - refilled_);
    refilled_ += passed;
    allowed_ = std::min(burst, allowed_ + static_cast<std::uint64_t>(passed.count()));
    if (allowed_ == 0) return false;
    --allowed_;
    return true;
}

void DavidLog::tell_suppressed() {
    if (suppressed_ > 0) write("suppressed=" + std::to_string(suppressed_));
    suppressed_ = 0;
}

void DavidLog::tell(const std::string& line) {
    if (!may_tell()) {
        ++suppressed_;
        return;
    }
    tell_suppressed();
    write(line);
}

}  // namespace slip::tool
