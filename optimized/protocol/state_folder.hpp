// What Charlie keeps on a host for one artifact, from process to process: prepared pairs
// (pair_store.hpp) and the count of rejects (rejects_on_disk.hpp). It is never a part of the
// artifact, and never copied.
#pragma once

#include <filesystem>

#include "optimized/base/disk.hpp"
#include "optimized/protocol/profile.hpp"

namespace slip::protocol {

/// STATE/D, where D is the first 32 hexadecimal digits of `digest`.
std::filesystem::path state_folder_of(const std::filesystem::path& state, const Digest& digest);

/// Throws BadInput, naming `folder`, unless it is a folder that this user owns and no other user
/// may access (THREAT-2), and not a link.
void require_private_folder(const std::filesystem::path& folder);

/// Returns the same folder. Makes it (0700) at its first use, with a count of no rejects, and
/// missing folders above it; two processes may do so at once. Throws BadInput, naming the folder,
/// if it cannot be made or entered, or if other users may access it (THREAT-2).
std::filesystem::path open_state_folder(const std::filesystem::path& state, const Digest& digest,
                                        base::Disk& disk = base::Disk::of_system());

}  // namespace slip::protocol
