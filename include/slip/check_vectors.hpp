// Check vectors (rho, s) that are prepared before the sessions that use them: spec/integrity.md.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <iosfwd>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// How many pairs of check vectors are prepared, and from what.
struct CheckVectorOptions {
    /// CharlieOptions::state. It must be on this host, and no backup or image may hold it.
    std::filesystem::path state;
    std::size_t count = 1;  ///< pairs, at least 1
    /// David's weight file, david.safetensors, read once from its beginning to its end; null: that
    /// of OUT/david. Nothing of it is kept.
    std::istream* weights = nullptr;
    /// Called while David's weights are read: the groups that are done, and all. What it throws
    /// ends the work.
    std::function<void(std::size_t done, std::size_t groups)> progress = {};
};

/// Adds pairs for the split `artifact` (OUT) to the state folder. A session of
/// CharlieOptions::state uses one, and computes none then. One pass over David's weights serves all
/// pairs. Throws BadInput, naming the file, if the weights are not those that were made with
/// Charlie's half, or the disk refuses; no pair of this call stays in the first case.
SLIP_API void prepare_check_vectors(const std::filesystem::path& artifact,
                                    const CheckVectorOptions& options);

}  // namespace slip
