// Connections to offline Davids who are given by their endpoints.
#pragma once

#include <filesystem>
#include <string>

#include "slip/charlie.hpp"
#include "slip/tls.hpp"

namespace slip::api {

/// Makes connections over TLS to the offline David at `text`, "HOST:PORT", which `flag` gave.
/// Throws BadInput if that is where `david` listens (null: nobody knows), who would see masks and
/// what they mask. A session that ends interrupts an attempt to connect.
Connect connect_offline(const std::string& text, const std::string& flag, const Endpoint* david,
                        const std::filesystem::path& certificates, const TimeLimits& limits);

}  // namespace slip::api
