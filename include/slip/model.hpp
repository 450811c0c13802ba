// Opening a model: from a checkpoint, or from both halves of a split without a protocol.
#pragma once

#include <concepts>
#include <filesystem>
#include <variant>

#include "slip/image_classifier.hpp"
#include "slip/language_model.hpp"

namespace slip {

/// Whichever kind of model the files hold.
using Model = std::variant<LanguageModel, ImageClassifier>;

/// What a model is opened as: the kind that the caller expects, or Model.
template <class Kind>
concept ModelKind = std::same_as<Kind, LanguageModel> || std::same_as<Kind, ImageClassifier> ||
    std::same_as<Kind, Model>;

/// The checkpoint `model`, a Hugging Face folder or an ONNX file, in float32. Throws BadInput,
/// naming the file, if it cannot be read or is of another kind:
/// `auto model = open_checkpoint<LanguageModel>(folder);`
template <ModelKind Kind = Model>
Kind open_checkpoint(const std::filesystem::path& model);

/// The integer model of the split `artifact` (OUT), without a protocol: an oracle for whoever
/// carries sessions over something of their own. Charlie's output equals it, bit for bit (LIN-4).
/// Throws BadInput as open_checkpoint().
template <ModelKind Kind = Model>
Kind open_unsplit(const std::filesystem::path& artifact);

}  // namespace slip
