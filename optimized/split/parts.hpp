// Which groups each of several processes makes that split one checkpoint (DECO-11).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/split/partial_split.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// The entries of a group's matrices.
std::size_t weights_in(const base::GroupShape& group);

/// Groups from `first` on, up to `end`.
struct GroupRange {
    std::size_t first = 0;
    std::size_t end = 0;
};

/// All groups, or those of a part: a group belongs to the part in whose share of the weights its
/// middle lies, so every group is in one part, and parts have about as many weights as each other.
GroupRange range_of(const std::vector<base::GroupShape>& groups,
                    const std::optional<SplitPart>& part);

/// Throws BadInput unless `part`, if there is one, is one of 1 to as many parts as there are
/// groups.
void require_part(const std::vector<base::GroupShape>& groups,
                  const std::optional<SplitPart>& part);

/// A sentence for each of the parts that `partial` was begun in and that has groups left to make.
/// None where it was not begun in parts.
std::vector<std::string> unfinished_parts(const std::vector<base::GroupShape>& groups,
                                          const PartialSplit& partial);

}  // namespace slip::splitting
