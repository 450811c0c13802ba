// The folders that make_keys() writes: spec/transport.md, SESS-10.
#pragma once

#include <ctime>
#include <filesystem>

#include "optimized/base/finding.hpp"
#include "optimized/net/certificates.hpp"
#include "optimized/net/openssl.hpp"

namespace slip::net {

/// THREAT-2: throws BadInput, naming the file, if others than its owner, or a group to which root
/// has given it, may use the key. What is absent is for its reader to report.
void require_private(const std::filesystem::path& key);

/// OUT/ca: its certificate and its private key. Throws BadInput, naming the file, unless both are
/// there, belong to each other, and the certificate is an authority's.
Identity read_authority(const std::filesystem::path& folder);
/// OUT/charlie or OUT/david: as read_authority(), for a certificate of `role`.
Identity read_party(const std::filesystem::path& folder, Role role);

/// Throws BadInput unless `authority` is the ca.pem of a party's folder, and issued its cert.pem.
/// The validity does not count.
void require_issued_by(X509* authority, const std::filesystem::path& folder);
/// Throws BadInput, naming `path`, unless the certificate holds for 30 days more.
void require_time_left(X509* certificate, const std::filesystem::path& path);

/// Whether a folder, by the names in it, is OUT of make_keys() or one of its folders.
bool is_key_folder(const std::filesystem::path& folder);
/// Whether a folder, by the names in it, holds folders of that kind.
bool holds_key_folders(const std::filesystem::path& folder);

/// Everything that is wrong at the time `now` with OUT of make_keys(), or with one of its folders:
/// what does not work, what others may read, and what ends within 30 days.
void examine_keys(const std::filesystem::path& folder, std::time_t now, base::Findings& findings);

}  // namespace slip::net
