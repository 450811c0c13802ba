// Conversations as marks and texts (MODEL-18).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/import/tokenizer.hpp"

namespace slip::importing {

/// A call of a function, which an assistant has made.
struct Call {
    std::string id;
    std::string name;
    std::string arguments;  // an object in JSON
};

/// What somebody says.
struct Turn {
    std::string role;  // "system", "user", "assistant" or "tool"
    std::string text;
    std::vector<Call> calls = {};  // of an assistant
    std::string call_id = {};      // of a tool: whose result the text is
};

/// For formats in which user and assistant take turns: neighbours of one of them are one turn.
std::vector<Turn> joined(std::span<const Turn> turns);

/// Writes marks and texts, and joins neighbouring texts, which are tokenised together.
class ChatWriter {
public:
    explicit ChatWriter(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

    /// Throws BadInput, naming it, if the tokenizer has no such token.
    ChatWriter& mark(std::string_view written);
    /// A mark where the tokenizer has one, otherwise text.
    ChatWriter& mark_or_text(std::string_view written);
    ChatWriter& text(std::string_view part);
    /// Writes text without the tokens of `marks`: where one of them stands in it, it is cut into
    /// ordinary text (SERVE-17). Each mark begins with '<'.
    ChatWriter& quoted(std::string_view part, std::span<const char* const> marks);
    std::vector<TokenId> finish();

private:
    void flush();

    const Tokenizer& tokenizer_;
    std::vector<TokenId> ids_;
    std::string text_;
    bool strips_ = false;  // the last mark takes the white space after it
};

std::string_view trimmed(std::string_view text);

}  // namespace slip::importing
