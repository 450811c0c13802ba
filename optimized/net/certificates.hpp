// The certificates of a deployment: spec/transport.md, SESS-7.
#pragma once

#include <openssl/x509.h>

#include <array>
#include <chrono>
#include <filesystem>

namespace slip::net {

/// A party of the protocol.
enum class Role { charlie, david };
inline constexpr std::array every_role{Role::charlie, Role::david};
/// As in its certificate and its folder: "charlie" or "david".
const char* name_of(Role role);

/// When the certificates of make_keys() hold, counted from now.
struct Validity {
    std::chrono::hours begins{-1};  // earlier than now, because clocks differ
    std::chrono::hours authority_ends{24 * 3650};
    std::chrono::hours leaf_ends{24 * 730};
};

/// As make_keys() of tls.hpp, with another validity.
void make_keys(const std::filesystem::path& out, const Validity& validity);

/// As renew_keys() of tls.hpp, with another validity.
void renew_keys(const std::filesystem::path& folder, const Validity& validity);

/// SESS-7: whether the subject's only common name and a DNS name among the alternative names are
/// the role's name.
bool has_role(X509* certificate, Role role);

}  // namespace slip::net
