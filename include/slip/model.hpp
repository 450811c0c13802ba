// Opening a model: from a checkpoint, or from both halves of a split without a protocol.
#pragma once

#include <filesystem>
#include <variant>

#include "slip/export.hpp"
#include "slip/image_classifier.hpp"
#include "slip/language_model.hpp"

namespace SLIP_API slip {

/// Whichever kind of model the files hold.
using Model = std::variant<LanguageModel, ImageClassifier>;

// What a model is opened as, Kind below, is LanguageModel, ImageClassifier or Model; the library
// has no other. It is no concept, because compilers disagree on the names of constrained templates:
// one would not link what another has compiled.

/// The checkpoint `model`, a Hugging Face folder, a GGUF file or an ONNX file, in float32. Throws
/// BadInput, naming the file, if it cannot be read or is of another kind:
/// `auto model = open_checkpoint<LanguageModel>(folder);`
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_checkpoint(const std::filesystem::path& model);

/// The integer model of the split `artifact` (OUT), without a protocol: an oracle for whoever
/// carries sessions over something of their own. Charlie's output equals it, bit for bit (LIN-4).
/// `audit` is the folder that SplitOptions::audit named, where the split is hidden: its halves do
/// not show the integer model. Throws BadInput as open_checkpoint(), and where the folder is
/// missing or is not needed.
template <class Kind = Model>
[[nodiscard]] SLIP_API Kind open_unsplit(const std::filesystem::path& artifact,
                                         const std::filesystem::path& audit = {});

}  // namespace slip
