// Where a David is: --listen of `slip david`, and --david of who calls him.
#pragma once

#include <filesystem>
#include <string>

#include "slip/tls.hpp"

namespace slip::tool {

/// A place that TLS reaches, or the name of a socket beside shared memory (SESS-12).
struct Address {
    Endpoint endpoint;             // where `socket` is empty
    std::filesystem::path socket;  // of this machine

    bool in_memory() const { return !socket.empty(); }
};

/// "HOST:PORT", or "shm:NAME". Throws BadInput, naming `flag`.
Address parse_address(const std::string& text, const std::string& flag);
/// The same form again, which is the peer's name (INTEG-7).
std::string describe(const Address& address);

/// In help texts.
inline constexpr const char* address_form = "HOST:PORT|shm:NAME";

}  // namespace slip::tool
