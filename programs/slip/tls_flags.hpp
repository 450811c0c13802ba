// The flags of whoever speaks over TLS: his certificates and his time limits (SESS-7, SESS-8).
#pragma once

#include "programs/slip/options.hpp"
#include "slip/tls.hpp"

namespace slip::tool {

/// Declares --timeout and --patience.
void add_time_limits(Options& options);

/// For --tls and the limits. Throws BadInput for a limit that is no positive number of seconds.
TlsOptions tls_options(const Options& options, Role role);

}  // namespace slip::tool
