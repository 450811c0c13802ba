// The grids of the weights that an artifact was split from (THREAT-4). Private to this room.
#pragma once

#include <filesystem>
#include <vector>

#include "optimized/artifact/artifact.hpp"

namespace slip::api {

/// splitting::distinct_share() of every matrix of `checkpoint`, in the order of the artifact's
/// groups and members: from near 0 to 1. Throws BadInput, naming the checkpoint and the matrix,
/// unless the checkpoint has all matrices of the artifact and the first row of each is, up to
/// rounding, the one that was split.
std::vector<double> grid_shares(const std::filesystem::path& checkpoint,
                                const artifact::CharlieArtifact& charlie,
                                const kernels::OffloadedWeights& davids);

}  // namespace slip::api
