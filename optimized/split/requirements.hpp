// What a split refuses before any long work.
#pragma once

#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// PARAM-3. Throws BadInput, naming the tensor, for a model beyond it.
void require_limits(const importing::Checkpoint& checkpoint,
                    const std::vector<base::GroupShape>& groups);

/// DECO-13: throws BadInput for a file that says itself that its weights lie on a grid of 8 bits,
/// unless options.accept_grid.
void require_accepted_grid(const importing::Checkpoint& checkpoint, const SplitOptions& options);

/// HIDE-1: throws BadInput for a model that the hidden split cannot hide, and for choices of the
/// paper's split beside it.
void require_hideable(const importing::Checkpoint& checkpoint, const SplitOptions& options);

/// HIDE-8: throws BadInput where the folder for the audit cannot be made or would say nothing new.
void require_audit(const SplitOptions& options);

}  // namespace slip::splitting
