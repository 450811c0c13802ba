// tokenizer.json, the file of Hugging Face's tokenizers, where it describes byte-pair encoding
// (MODEL-15).
#pragma once

#include <filesystem>
#include <string_view>

#include "optimized/import/bpe.hpp"

namespace slip::importing {

/// Throws BadInput, naming `origin`, the component and the field, for a file that is malformed and
/// for one with a component, or an option, that changes the ids and is not known.
BpeParts parse_tokenizer_json(std::string_view text, const std::filesystem::path& origin);

}  // namespace slip::importing
