// How often a session may be opened with a David who was caught, as far as one process knows:
// spec/integrity.md, INTEG-7. For callers without a state folder; with one: rejects_on_disk.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/protocol/reject_limiter.hpp"

namespace slip::protocol {

/// Counts rejected replies per peer, and refuses a new session until 1 s after the first, 2 s after
/// the second, ..., 64 s after the seventh and every later one. The count never falls: S sessions
/// accept a wrong reply with probability S L^-kappa, whatever lies between them.
class ReconnectLimiter : public RejectLimiter {
public:
    using Clock = std::chrono::steady_clock;
    using Now = std::function<Clock::time_point()>;

    explicit ReconnectLimiter(Now now = Clock::now) : now_(std::move(now)) {}

    /// The limiter that every session of this process shares, unless a test gives it another.
    static ReconnectLimiter& of_process() {
        static ReconnectLimiter limiter;
        return limiter;
    }

    void require_allowed(const std::string& peer) const override {
        const std::lock_guard lock(mutex_);
        const auto entry = peers_.find(peer);
        if (entry == peers_.end()) return;
        const auto left = entry->second.allowed_from - now_();
        if (left <= Clock::duration::zero()) return;
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        throw ProtocolError(peer + " sent a wrong reply; no new session with it for " +
                            std::to_string(wait) + " ms");
    }

    void record_reject(const std::string& peer) noexcept override {
        const std::lock_guard lock(mutex_);
        Peer& entry = peers_[peer];
        entry.allowed_from = now_() + delay_after(++entry.rejects);
    }

private:
    struct Peer {
        std::uint64_t rejects = 0;
        Clock::time_point allowed_from{};
    };
    mutable std::mutex mutex_;
    Now now_;
    std::map<std::string, Peer> peers_;
};

}  // namespace slip::protocol
