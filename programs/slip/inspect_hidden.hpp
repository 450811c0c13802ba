// What 'slip inspect' says of a hidden split.
#pragma once

#include "optimized/artifact/artifact.hpp"

namespace slip::tool {

/// Prints what each group of a hidden split is hidden by and costs, as a table or as one JSON
/// object. Nothing of it depends on what hides the model (HIDE-6): it follows from sizes and the
/// set.
void inspect_hidden(const artifact::CharlieArtifact& charlie, bool as_json);

}  // namespace slip::tool
