// Waiting for a descriptor until a point in time: spec/session.md, SESS-8.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace slip::net {

using Clock = std::chrono::steady_clock;

/// The limit of a frame of so many bytes: a large one has a second more for each MiB.
inline std::chrono::milliseconds time_for(std::size_t bytes, std::chrono::milliseconds limit) {
    return limit + std::chrono::milliseconds(bytes >> 10);
}

/// Waits until `event` (POLLIN or POLLOUT) of `descriptor` can be handled without waiting. Returns
/// 0, ETIMEDOUT at the deadline, or the errno of poll().
int wait_until_ready(int descriptor, short event, Clock::time_point deadline);

/// What `work` returns, or throws, if it ends within `limit`; nothing otherwise. Work that cannot
/// be interrupted, such as the system's look-up of a name, then goes on in a thread of its own, so
/// it must own all that it uses.
template <class T>
std::optional<T> within(std::chrono::milliseconds limit, std::function<T()> work) {
    std::packaged_task<T()> task(std::move(work));
    std::future<T> result = task.get_future();
    std::thread(std::move(task)).detach();
    if (result.wait_for(limit) != std::future_status::ready) return std::nullopt;
    return result.get();
}

}  // namespace slip::net
