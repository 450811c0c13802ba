// David's share as a model that runs.
#pragma once

#include <filesystem>

#include "slip/model.hpp"

namespace slip::tasks {

/// The model of the split `artifact` (OUT) without Charlie's factors, in float32: every offloaded
/// matrix is delta_i 2^t W_D[i] (DECO-1, DECO-3). Embeddings, norms, biases and row scales delta
/// are those of the model: an attacker who knows everything but A and B. Kind is LanguageModel or
/// ImageClassifier. Throws BadInput, naming the file, as slip::open_unsplit().
template <class Kind>
Kind open_share(const std::filesystem::path& artifact);

}  // namespace slip::tasks
