// The descriptions of the two halves: plan.json of Charlie's, manifest.json of David's (MODEL-7).
#pragma once

#include <vector>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/file_tensors.hpp"
#include "optimized/split/partial_split.hpp"
#include "optimized/split/weight_files.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// Writes all files but the weights, which are finished. `shard_sizes`: the number of groups of
/// each of David's (MODEL-22). `ranks` are empty where nothing of a matrix is kept apart (HIDE-1).
/// Returns the digest of David's half.
artifact::Sha256 write_descriptions(const importing::Checkpoint& checkpoint,
                                    const std::vector<base::GroupShape>& groups,
                                    const std::vector<std::size_t>& shard_sizes, const Ranks& ranks,
                                    const Seeds& seeds, const SplitOptions& options,
                                    const PartialSplit& partial);

}  // namespace slip::splitting
