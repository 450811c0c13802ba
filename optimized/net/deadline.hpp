// Waiting for a descriptor until a point in time: spec/transport.md, SESS-8.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace slip::net {

using Clock = std::chrono::steady_clock;

/// The limit of a frame of `bytes` bytes: a large one has a second more for each MiB.
inline std::chrono::milliseconds time_for(std::size_t bytes, std::chrono::milliseconds limit) {
    return limit + std::chrono::milliseconds(bytes >> 10);
}

/// Waits until `event` (POLLIN or POLLOUT) of `descriptor` can be handled without waiting. Returns
/// 0, ETIMEDOUT at the deadline, ECANCELED once `stop` (TimeLimits) is readable, or the errno of
/// poll().
int wait_until_ready(int descriptor, short event, Clock::time_point deadline, int stop);

/// Whether `stop` (TimeLimits) is readable.
bool stop_asked(int stop);
/// Between two looks at it of a wait that cannot poll it.
inline constexpr std::chrono::milliseconds stop_interval{50};

/// Whether the peer has ended the connection of a stream socket, or the connection has failed.
bool peer_ended(int descriptor);

/// What `work` returns, or throws, if it ends before the deadline and before `stop` (TimeLimits) is
/// readable; nothing otherwise. Work that cannot be interrupted, such as the system's look-up of a
/// name, then goes on in a thread of its own, so it must own all that it uses.
template <class T>
std::optional<T> before(Clock::time_point deadline, int stop, std::function<T()> work) {
    std::packaged_task<T()> task(std::move(work));
    std::future<T> result = task.get_future();
    std::thread(std::move(task)).detach();
    for (;;) {
        const auto look = std::min(deadline, Clock::now() + stop_interval);
        if (result.wait_until(look) == std::future_status::ready) return result.get();
        if (look == deadline || stop_asked(stop)) return std::nullopt;
    }
}

}  // namespace slip::net
