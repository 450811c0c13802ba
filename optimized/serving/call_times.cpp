#include "optimized/serving/call_times.hpp"

#include <algorithm>

namespace slip::serving {
namespace {

using std::chrono::milliseconds;

/// From one call to the next: 0, then these.
constexpr milliseconds first_pause{250};
constexpr milliseconds longest_pause{8000};

}  // namespace

void CallTimes::need(Clock::time_point now) {
    if (!without_) without_ = call_at_ = now;
}

void CallTimes::lose(Clock::time_point now) {
    if (!without_) without_ = now;
}

void CallTimes::succeed() {
    without_.reset();
    pause_ = milliseconds(0);
}

void CallTimes::call_again(Clock::time_point now) {
    call_at_ = now + pause_;
    pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
    if (!without_) return;
    const auto last = *without_ + limit_;
    if (now < last) call_at_ = std::min(call_at_, last);
}

}  // namespace slip::serving
