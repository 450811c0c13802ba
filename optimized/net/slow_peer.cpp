#include "optimized/net/slow_peer.hpp"

namespace slip::net {

SlowPeer::SlowPeer(std::chrono::milliseconds limit, std::function<void()> tell)
    : limit_(limit), tell_(std::move(tell)), watcher_([this] { watch(); }) {}

SlowPeer::~SlowPeer() {
    {
        const std::lock_guard lock(mutex_);
        end_ = true;
    }
    ended_.notify_all();
    watcher_.join();
}

/// Sleeps until the wait that is under way will be too long, or, where there is none, until one
/// that begins now would be. So nobody needs to wake this thread.
void SlowPeer::watch() {
    for (;;) {
        const Clock::time_point now = Clock::now();
        const Clock::rep since = since_;
        const Clock::time_point due =
            (since == not_waiting ? now : Clock::time_point(Clock::duration(since))) + limit_;
        if (due <= now) break;
        std::unique_lock lock(mutex_);
        if (ended_.wait_until(lock, due, [this] { return end_; })) return;
    }
    tell_();
}

}  // namespace slip::net
