// Writing the two halves of a split model (MODEL-7): spec/decomposition.md.
#pragma once

#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// As split_checkpoint() of slip/split.hpp, for a checkpoint that is open, in options.attention,
/// and whose offloaded matrices are `groups`.
std::vector<std::string> split_checkpoint(const importing::Checkpoint& checkpoint,
                                          const std::vector<base::GroupShape>& groups,
                                          const SplitOptions& options);

}  // namespace slip::splitting
