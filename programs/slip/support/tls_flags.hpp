// The time limits of whoever speaks over TLS (SESS-8).
#pragma once

#include "programs/slip/support/options.hpp"
#include "slip/transport.hpp"

namespace slip::tool {

/// Declares --timeout and --patience.
void add_time_limits(Options& options);

/// What they say. Throws BadInput for a limit that is no positive number of seconds.
TimeLimits time_limits(const Options& options);

/// Declares --david-timeout.
void add_serving_limit(Options& options);

/// SERVE-13: no limit is longer than --david-timeout, because another David may be there.
TimeLimits serving_limits(const Options& options);

}  // namespace slip::tool
