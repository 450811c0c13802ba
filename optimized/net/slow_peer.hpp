// Who waits long for his peer is told so, once.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "optimized/net/deadline.hpp"
#include "slip/transport.hpp"

namespace slip::net {

/// Calls `tell` once, from a thread of its own, when one wait has lasted for `limit`. Waits follow
/// each other; they cost two stores.
class SlowPeer {
public:
    SlowPeer(std::chrono::milliseconds limit, std::function<void()> tell);
    SlowPeer(const SlowPeer&) = delete;
    SlowPeer& operator=(const SlowPeer&) = delete;
    ~SlowPeer();

    /// What `wait` returns.
    template <class Wait>
    auto during(const Wait& wait) {
        const struct Mark {
            std::atomic<Clock::rep>& since;
            ~Mark() { since = not_waiting; }
        } mark{since_};
        since_ = Clock::now().time_since_epoch().count();
        return wait();
    }

    /// How long the wait that is under way has lasted; 0 where there is none.
    std::chrono::duration<double> waiting() const {
        const Clock::rep since = since_;
        if (since == not_waiting) return {};
        return Clock::now() - Clock::time_point(Clock::duration(since));
    }

private:
    static constexpr Clock::rep not_waiting = -1;
    void watch();

    const std::chrono::milliseconds limit_;
    const std::function<void()> tell_;
    std::atomic<Clock::rep> since_{not_waiting};
    std::mutex mutex_;
    std::condition_variable ended_;
    bool end_ = false;  // guarded by mutex_
    std::thread watcher_;
};

/// A connection on which every wait for the peer is one of `slow`.
class WatchedTransport : public Transport {
public:
    WatchedTransport(std::unique_ptr<Transport> connection, std::shared_ptr<SlowPeer> slow)
        : connection_(std::move(connection)), slow_(std::move(slow)) {}

    void send(std::span<const std::byte> bytes) override {
        slow_->during([&] { connection_->send(bytes); });
    }
    void receive(std::span<std::byte> bytes) override {
        slow_->during([&] { connection_->receive(bytes); });
    }
    void await_frame() override {
        slow_->during([&] { connection_->await_frame(); });
    }
    std::string peer_name() const override { return connection_->peer_name(); }
    void interrupt() noexcept override { connection_->interrupt(); }
    bool ended() noexcept override { return connection_->ended(); }

private:
    const std::unique_ptr<Transport> connection_;
    const std::shared_ptr<SlowPeer> slow_;
};

}  // namespace slip::net
