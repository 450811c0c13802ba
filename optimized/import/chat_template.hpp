// Conversations as marks and texts, in the formats of known families (MODEL-18).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/chat_writer.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::importing {

/// Formats by name, in alphabetical order.
std::vector<std::string> chat_formats();

/// The files of a folder that a chat template may stand in, those that are there:
/// chat_template.jinja, tokenizer_config.json.
std::vector<std::filesystem::path> chat_template_files(const std::filesystem::path& folder);

/// The format whose marks the chat template of a folder or a GGUF file shows; nothing if there
/// is no template, or it shows none. Throws BadInput, naming the file, for JSON that is malformed.
std::optional<std::string> chat_format_of(const std::filesystem::path& model);

/// The text of that template; empty if there is none. Throws as chat_format_of().
std::string chat_template_of(const std::filesystem::path& model);

/// The ids of a conversation up to where the assistant's next answer begins. Marks are tokens,
/// everything else is text. Throws BadInput, naming it, if the tokenizer lacks a mark, and for a
/// format that is not known. Requires turns in the order of ChatFormat::encode().
std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, std::string_view format,
                                 std::span<const Turn> turns);

/// The token that ends an answer in this format. Throws as encode_chat().
TokenId end_of_answer(const Tokenizer& tokenizer, std::string_view format);

}  // namespace slip::importing
