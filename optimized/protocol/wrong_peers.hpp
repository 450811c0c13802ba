// The Davids who have sent a wrong reply: spec/integrity.md, INTEG-7.
#pragma once

#include <mutex>
#include <set>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::protocol {

/// Peers that this process does not go back to, by the names under which its transports reach them
/// (Transport::peer_name()). Threads may share it.
class WrongPeers {
public:
    WrongPeers() = default;
    WrongPeers(const WrongPeers&) = delete;
    WrongPeers& operator=(const WrongPeers&) = delete;

    /// Those that every session of this process asks, unless a test gives it others.
    static WrongPeers& of_process() {
        static WrongPeers peers;
        return peers;
    }

    /// Whether `peer` has sent a wrong reply.
    bool has(const std::string& peer) const {
        const std::lock_guard lock(mutex_);
        return peers_.count(peer) != 0;
    }

    /// Throws Distrusted if he has.
    void require_trusted(const std::string& peer) const {
        if (has(peer)) throw Distrusted(peer);
    }

    /// Without memory for the name the process ends: it must not go on without knowing it.
    void add(const std::string& peer) noexcept {
        const std::lock_guard lock(mutex_);
        peers_.insert(peer);
    }

private:
    mutable std::mutex mutex_;
    std::set<std::string> peers_;
};

}  // namespace slip::protocol
