#include "programs/slip/support/progress.hpp"

#include <unistd.h>

#include <cmath>
#include <iostream>
#include <utility>

namespace slip::tool {

Progress::Progress(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      next_(begin_ + std::chrono::seconds(1)) {}

Progress::~Progress() {
    if (terminal_ && shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
    update(done, total, static_cast<double>(done) / static_cast<double>(total));
}

void Progress::update(std::uint64_t done, std::uint64_t total, double fraction) {
    if (!begin_fraction_) begin_fraction_ = fraction;
    const auto now = Clock::now();
    if (now < next_) return;
    shown_ = true;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    std::cerr << (terminal_ ? "\r\x1b[K" : "") << what_ << ' ' << done << " of " << total << ", "
              << std::lround(seconds) << " s";
    if (const double worked = fraction - *begin_fraction_; worked > 0) {
        std::cerr << ", about " << std::lround(seconds * (1 - fraction) / worked) << " s to go";
    }
    std::cerr << (terminal_ ? "" : "\n") << std::flush;
    next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
}

}  // namespace slip::tool
