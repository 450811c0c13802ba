// Preparing check vectors, as a command and at the end of a split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "slip/check_vectors.hpp"

namespace slip::tool {

/// Pairs that one call makes, at most: each takes memory while the weights are read.
inline constexpr std::uint64_t most_prepared = 1024;

/// prepare_check_vectors() with progress, and a line at the end, as `slip COMMAND`.
void prepare(const std::string& command, const std::filesystem::path& artifact,
             CheckVectorOptions options);

}  // namespace slip::tool
