#include "programs/slip/support/tls_flags.hpp"

#include <algorithm>
#include <chrono>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

/// The limit for a David who hangs in the middle of an answer.
constexpr std::chrono::milliseconds serving_limit{10000};

std::chrono::milliseconds seconds_of(const Options& options, const char* name,
                                     std::chrono::milliseconds otherwise) {
    constexpr double most = 1e6;
    const double seconds = options.real_or(name, 1e-3 * static_cast<double>(otherwise.count()));
    if (seconds >= 1e-3 && seconds <= most) {
        return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
    }
    throw BadInput("--" + std::string(name) + " '" + options.required(name) +
                   "': expected seconds, from 0.001 to 1000000");
}

}  // namespace

void add_time_limits(Options& options) {
    options.add("timeout", "SECONDS",
                "for a connection, a handshake, or a frame that has begun; a second more for each "
                "MiB (default 30)");
    options.add("patience", "SECONDS", "for the peer's next frame to begin (default 600)");
}

void add_serving_limit(Options& options) {
    options.add("david-timeout", "SECONDS",
                "how long a David may let an answer wait, or take to be reached, before the next "
                "one goes on with it; where --timeout or --patience is shorter, that (default 10)");
}

TimeLimits serving_limits(const Options& options) {
    const auto limit = seconds_of(options, "david-timeout", serving_limit);
    TimeLimits limits = time_limits(options);
    limits.timeout = std::min(limits.timeout, limit);
    limits.patience = std::min(limits.patience, limit);
    return limits;
}

TimeLimits time_limits(const Options& options) {
    TimeLimits limits;
    limits.timeout = seconds_of(options, "timeout", limits.timeout);
    limits.patience = seconds_of(options, "patience", limits.patience);
    return limits;
}

}  // namespace slip::tool
