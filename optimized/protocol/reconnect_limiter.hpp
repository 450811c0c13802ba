// How often a session may be opened with a David who was caught: spec/integrity.md, INTEG-7.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::protocol {

/// Counts rejected replies per peer, and refuses a new session until 1 s after the first, 2 s after
/// the second, ..., 64 s after the seventh and every later one. The count never falls: S sessions
/// accept a wrong reply with probability S L^-kappa, whatever lies between them. Safe to share by
/// threads.
class ReconnectLimiter {
public:
    using Clock = std::chrono::steady_clock;
    using Now = std::function<Clock::time_point()>;

    explicit ReconnectLimiter(Now now = Clock::now) : now_(std::move(now)) {}

    /// The limiter that every session of this process shares, unless a test gives it another.
    static ReconnectLimiter& of_process() {
        static ReconnectLimiter limiter;
        return limiter;
    }

    /// Throws ProtocolError, saying how long to wait, if it is too early for a session with `peer`.
    void require_allowed(const std::string& peer) const {
        const std::lock_guard lock(mutex_);
        const auto entry = peers_.find(peer);
        if (entry == peers_.end()) return;
        const auto left = entry->second.allowed_from - now_();
        if (left <= Clock::duration::zero()) return;
        const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        throw ProtocolError(peer + " sent a wrong reply; no new session with it for " +
                            std::to_string(wait) + " ms");
    }

    /// A reply of `peer` was rejected just now.
    void record_reject(const std::string& peer) {
        const std::lock_guard lock(mutex_);
        Peer& entry = peers_[peer];
        entry.allowed_from = now_() + entry.next_delay;
        entry.next_delay =
            std::min(base::parameters::delay_factor * entry.next_delay, longest_delay);
    }

private:
    static constexpr std::chrono::seconds longest_delay{base::parameters::longest_delay_seconds};
    struct Peer {
        std::chrono::seconds next_delay{base::parameters::first_delay_seconds};
        Clock::time_point allowed_from{};
    };
    mutable std::mutex mutex_;
    Now now_;
    std::map<std::string, Peer> peers_;
};

}  // namespace slip::protocol
