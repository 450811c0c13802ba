// Waiting for a descriptor until a point in time: spec/session.md, SESS-8.
#pragma once

#include <chrono>
#include <cstddef>

namespace slip::net {

using Clock = std::chrono::steady_clock;

/// The limit of a frame of so many bytes: a large one has a second more for each MiB.
inline std::chrono::milliseconds time_for(std::size_t bytes, std::chrono::milliseconds limit) {
    return limit + std::chrono::milliseconds(bytes >> 10);
}

/// Waits until `event` (POLLIN or POLLOUT) of `descriptor` can be handled without waiting. Returns
/// 0, ETIMEDOUT at the deadline, or the errno of poll().
int wait_until_ready(int descriptor, short event, Clock::time_point deadline);

}  // namespace slip::net
