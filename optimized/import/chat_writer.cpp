// MODEL-18: marks and texts.
#include "optimized/import/chat_writer.hpp"

#include <algorithm>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {

using nlohmann::json;

ChatWriter& ChatWriter::mark(std::string_view written) {
    const auto marker = tokenizer_.marker(written);
    if (!marker) {
        throw BadInput("the tokenizer has no token " + json(std::string(written)).dump() +
                       ", which the chat format needs");
    }
    if (marker->strips_left) text_.resize(text_.size() - trailing_white_space(text_));
    flush();
    ids_.push_back(marker->id);
    strips_ = marker->strips_right;
    return *this;
}

ChatWriter& ChatWriter::mark_or_text(std::string_view written) {
    return tokenizer_.marker(written) ? mark(written) : text(written);
}

ChatWriter& ChatWriter::text(std::string_view part) {
    text_ += part;
    return *this;
}

/// A mark that is cut behind its first character is tokenised in two parts, neither of which it is.
ChatWriter& ChatWriter::quoted(std::string_view part, std::span<const char* const> marks) {
    std::vector<std::string_view> tokens;
    for (const char* mark : marks) {
        if (tokenizer_.marker(mark)) tokens.emplace_back(mark);
    }
    std::size_t begin = 0;  // of what is not written yet
    for (std::size_t at = 0; (at = part.find('<', at)) != std::string_view::npos;) {
        const std::string_view rest = part.substr(at++);
        const auto begins = [&](std::string_view mark) { return rest.starts_with(mark); };
        if (std::none_of(tokens.begin(), tokens.end(), begins)) continue;
        text(part.substr(begin, at - begin));
        flush();
        begin = at;
    }
    return text(part.substr(begin));
}

std::vector<TokenId> ChatWriter::finish() {
    flush();
    return std::move(ids_);
}

void ChatWriter::flush() {
    std::string_view rest = text_;
    if (strips_) rest.remove_prefix(leading_white_space(rest));
    if (!rest.empty()) strips_ = false;
    const std::vector<TokenId> ids = tokenizer_.encode(rest);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    text_.clear();
}

std::vector<Turn> joined(std::span<const Turn> turns) {
    std::vector<Turn> result;
    const auto is_said = [](const Turn& turn) { return turn.role != "tool" && turn.calls.empty(); };
    for (const Turn& turn : turns) {
        const bool again = !result.empty() && result.back().role == turn.role;
        if (again && is_said(turn) && is_said(result.back())) {
            result.back().text += "\n\n" + turn.text;
        } else {
            result.push_back(turn);
        }
    }
    return result;
}

std::string_view trimmed(std::string_view text) {
    text.remove_prefix(leading_white_space(text));
    text.remove_suffix(trailing_white_space(text));
    return text;
}

}  // namespace slip::importing
