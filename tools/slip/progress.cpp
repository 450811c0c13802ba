#include "tools/slip/progress.hpp"

#include <unistd.h>

#include <iostream>
#include <utility>

namespace slip::tool {

Progress::Progress(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) == 1),
      next_(Clock::now() + std::chrono::seconds(1)) {}

Progress::~Progress() {
    if (terminal_ && shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::update(std::uint64_t done, std::uint64_t total) {
    const auto now = Clock::now();
    if (now < next_) return;
    shown_ = true;
    std::cerr << (terminal_ ? "\r\x1b[K" : "") << what_ << ' ' << done << " of " << total
              << (terminal_ ? "" : "\n") << std::flush;
    next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10000));
}

}  // namespace slip::tool
