// Waiting for a descriptor until a point in time: spec/session.md, SESS-8.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
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

/// What `work` returns, or throws, if it ends within `limit`; nothing otherwise, or once `stop` is
/// requested. Work that cannot be interrupted, such as the system's look-up of a name, then goes on
/// in a thread of its own, so it must own all that it uses.
template <class T>
std::optional<T> within(std::chrono::milliseconds limit, const std::stop_token& stop,
                        std::function<T()> work) {
    struct Shared {
        std::mutex mutex;
        std::condition_variable_any ended;
        std::future<T> result;  // guarded by mutex; valid once there is one
    };
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, work = std::move(work)]() mutable {
        std::packaged_task<T()> task(std::move(work));
        task();
        const std::lock_guard lock(shared->mutex);
        shared->result = task.get_future();
        shared->ended.notify_all();
    }).detach();
    std::unique_lock lock(shared->mutex);
    const auto ended = [&] { return shared->result.valid(); };
    if (!shared->ended.wait_for(lock, stop, limit, ended)) return std::nullopt;
    return shared->result.get();
}

}  // namespace slip::net
