#include "programs/slip/tls_flags.hpp"

#include <chrono>

#include "slip/error.hpp"

namespace slip::tool {
namespace {

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

TimeLimits time_limits(const Options& options) {
    TimeLimits limits;
    limits.timeout = seconds_of(options, "timeout", limits.timeout);
    limits.patience = seconds_of(options, "patience", limits.patience);
    return limits;
}

}  // namespace slip::tool
