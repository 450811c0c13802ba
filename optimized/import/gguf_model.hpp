// What a GGUF file says of its model, in the terms of a Hugging Face folder (MODEL-19).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/gguf.hpp"

namespace slip::importing {

/// The configuration as config.json. Throws BadInput, naming `origin` and the key, for an
/// architecture that is not read, and for a key of the architecture that is not known: it could
/// change what the model computes.
std::string gguf_config(const GgufHeader& header, const std::filesystem::path& origin);

/// The tokenizer as tokenizer.json, or nothing if the file has none. Throws BadInput, naming
/// `origin` and the key, for one of another kind than byte-level BPE with a known division into
/// pieces and SentencePiece's BPE.
std::optional<std::string> gguf_tokenizer(const GgufHeader& header,
                                          const std::filesystem::path& origin);

/// The template of conversations, or an empty text.
std::string gguf_chat_template(const GgufHeader& header);

/// Puts the rows of a query or key matrix, which are pairs that RoPE turns, into Hugging Face's
/// order. Throws BadInput if `heads` heads do not have an even number of rows each.
std::vector<float> rows_in_halves(const std::vector<float>& pairs, std::size_t heads,
                                  std::size_t columns);

}  // namespace slip::importing
