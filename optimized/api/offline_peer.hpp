// Connections to offline Davids by endpoint.
#pragma once

#include <filesystem>
#include <string>

#include "slip/charlie.hpp"
#include "slip/tls.hpp"

namespace slip::api {

/// Makes connections over TLS to the offline David at `text`, "HOST:PORT", the value of `flag`.
/// Throws BadInput if `text` equals `david`, the endpoint of D1 (null: unknown), who must not learn
/// masks. The end of a session interrupts an attempt to connect.
Connect connect_offline(const std::string& text, const std::string& flag, const Endpoint* david,
                        const std::filesystem::path& certificates, const TimeLimits& limits);

}  // namespace slip::api
