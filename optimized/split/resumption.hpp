// What lets a killed split go on where it was (DECO-11): what was asked for, what was drawn, and
// what is finished.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/artifact/seal.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/partial_split.hpp"
#include "optimized/split/parts.hpp"
#include "optimized/split/weight_files.hpp"
#include "slip/split.hpp"

namespace slip::splitting {

/// Two commands with the same request make the same artifact, but for what is drawn at random.
/// Reads the whole model. `seal`: null where hints are not sealed.
nlohmann::ordered_json request_of(const importing::Checkpoint& checkpoint,
                                  const SplitOptions& options, const artifact::SealKey* seal);

/// What a new split draws at random: DECO-10, INTEG-1, HIDE-3.
nlohmann::ordered_json choices_of(const SplitOptions& options);

/// The seeds that a split began with. Throws BadInput, naming the file and the field, for text that
/// is none.
Seeds seeds_of(const PartialSplit& partial);

/// What an earlier run says it has finished counts as far as its bytes are still there. A note per
/// group that is forgotten.
void keep_what_is_whole(const std::vector<base::GroupShape>& groups, WeightFiles& files,
                        const GroupRange& range, PartialSplit& partial,
                        std::vector<std::string>& notes);

}  // namespace slip::splitting
