// What a session asks before it is opened, and tells when it ends in a reject: spec/integrity.md,
// INTEG-7.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "optimized/base/parameters.hpp"

namespace slip::protocol {

/// Safe to share by threads.
class RejectLimiter {
public:
    RejectLimiter() = default;
    RejectLimiter(const RejectLimiter&) = delete;
    RejectLimiter& operator=(const RejectLimiter&) = delete;
    virtual ~RejectLimiter() = default;

    /// Throws ProtocolError, saying how long to wait, if it is too early for a session with `peer`.
    virtual void require_allowed(const std::string& peer) const = 0;
    /// A reply of `peer` was rejected just now. When this returns, no session that asks the limiter
    /// is opened too early; it never throws, because the reject has to be told on.
    virtual void record_reject(const std::string& peer) noexcept = 0;
};

inline constexpr std::chrono::seconds longest_delay{base::parameters::longest_delay_seconds};

/// From the r-th reject to the next session: 1, 2, 4, ..., 64, 64, ... seconds, and 0 for r = 0.
constexpr std::chrono::seconds delay_after(std::uint64_t rejects) {
    std::chrono::seconds delay{rejects == 0 ? 0 : base::parameters::first_delay_seconds};
    for (std::uint64_t r = 1; r < rejects && delay < longest_delay; ++r) {
        delay = std::min(base::parameters::delay_factor * delay, longest_delay);
    }
    return delay;
}

}  // namespace slip::protocol
