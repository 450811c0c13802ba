// Writing the two halves of a split model: spec/model.md, MODEL-7.
#pragma once

#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// Bytes.
struct SplitSizes {
    std::size_t charlie = 0;  ///< of charlie.safetensors, exactly
    std::size_t check = 0;    ///< of check.safetensors, exactly
    std::size_t masks = 0;    ///< of masks.safetensors, exactly, unsealed; 0 if there is none
    std::size_t david = 0;    ///< of david.safetensors, exactly
    std::size_t largest_matrix = 0;  ///< of the largest matrix in float32, which is in memory whole
    /// Of the hidden split, otherwise 0: memory that a split takes at most, about, and products of
    /// bytes for its hints, M n d N planes of each group.
    std::size_t memory = 0;
    double products = 0;
};

/// What a split with these ranks (artifact::ranks_of) takes. Throws BadInput beyond PARAM-3.
SplitSizes sizes_of_split(const importing::Checkpoint& checkpoint,
                          const std::vector<base::GroupShape>& groups,
                          const std::vector<std::vector<std::size_t>>& ranks,
                          const base::parameters::ParameterSet& set);

/// As split_checkpoint() of slip/split.hpp, for a checkpoint that is open, in options.attention,
/// and whose offloaded matrices are `groups`.
std::vector<std::string> split_checkpoint(const importing::Checkpoint& checkpoint,
                                          const std::vector<base::GroupShape>& groups,
                                          const SplitOptions& options);

}  // namespace slip::splitting
