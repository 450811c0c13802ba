// The small artifact that conformance/ ships (MODEL-7).
#pragma once

#include <cstdint>
#include <filesystem>

namespace slip::reference::vectors {

/// Writes both halves of the artifact of a seed: `folder`/charlie and `folder`/david.
void write_artifact(std::uint64_t seed, const std::filesystem::path& folder);

}  // namespace slip::reference::vectors
