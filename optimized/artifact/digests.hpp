// SHA-256 of every file of a folder, in the format of sha256sum: what tells Charlie that a byte of
// his half has changed (MODEL-7).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string_view>

namespace slip::artifact {

/// Writes FOLDER/SHA256SUMS, with permissions `mode`, for all other files of the folder. Throws
/// BadInput, naming the file, if one cannot be read or the disk refuses.
void write_digests(const std::filesystem::path& folder, mode_t mode);

/// Throws BadInput, naming the file, unless SHA256SUMS lists exactly the other files of the folder,
/// each with its digest. The file named `later` is not read: whoever reads it has other digests of
/// it.
void require_digests(const std::filesystem::path& folder, std::string_view later = {});

}  // namespace slip::artifact
