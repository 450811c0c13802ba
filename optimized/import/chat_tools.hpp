// Conversations in which an assistant calls functions, in the formats of known families (SERVE-17).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/chat_writer.hpp"

namespace slip::importing {

/// How a family writes tools, calls and their results.
struct ToolStyle {
    enum class Family { qwen, llama3, mistral };
    Family family = Family::qwen;
    /// What the template says in the place of a system message that is not there.
    std::string default_system = {};
    /// Whether the template leaves the reasoning of earlier answers out, as Qwen3's does.
    bool parts_reasoning = false;
};

/// The style that a model's template shows, which is one of this chat format; none: it takes no
/// tools.
std::optional<ToolStyle> tool_style_of(std::string_view chat_template, std::string_view format);

/// The ids of a conversation with `tools`, which are JSON, up to where the assistant's next answer
/// begins: what the family's template writes. Throws BadInput for a tokenizer that lacks a mark,
/// and for what the family has no place for: several calls in one message, ids of another length.
/// Requires turns in the order of ChatFormat::encode().
std::vector<TokenId> encode_chat_with_tools(const Tokenizer& tokenizer, const ToolStyle& style,
                                            std::span<const Turn> turns,
                                            std::span<const std::string> tools);

/// JSON as Python's json.dumps() writes it, with ", " and ": ", or in lines that are indented by so
/// many spaces a level.
std::string as_python_writes(std::string_view json, int indent = -1);

}  // namespace slip::importing
