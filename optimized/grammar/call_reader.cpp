// SERVE-17: text and calls of an answer.
#include <algorithm>
#include <utility>

#include "slip/tools.hpp"

namespace slip {
namespace {

/// Bytes at the end of `text` that are the beginning of `mark`.
std::size_t beginning_at_end(std::string_view text, std::string_view mark) {
    std::size_t size = std::min(text.size(), mark.size());
    while (!text.ends_with(mark.substr(0, size))) --size;
    return size;
}

}  // namespace

void CallReader::show(std::vector<Part>& parts, Part::Kind kind, std::size_t bytes) {
    if (bytes > 0) parts.push_back({kind, held_.substr(0, bytes)});
    held_.erase(0, bytes);
}

void CallReader::on_token(TokenId id) {
    if (state_ != State::begin || syntax_.begin != CallSyntax::Begin::token) return;
    if (id == syntax_.token) state_ = State::opening;
}

std::vector<CallReader::Part> CallReader::push(std::string_view text) {
    std::vector<Part> parts;
    held_ += text;
    while (step(parts)) {
    }
    return parts;
}

std::vector<CallReader::Part> CallReader::finish() {
    std::vector<Part> parts;
    // A call of which no more has come than what begins it is no text.
    std::string_view begun = syntax_.opening;
    begun.remove_suffix(begun.empty() ? 0 : 1);
    const bool cut = syntax_.begin == CallSyntax::Begin::text && held_.ends_with(begun);
    const bool is_text = state_ == State::begin || state_ == State::text;
    if (is_text && !cut) show(parts, Part::Kind::text, held_.size());
    return parts;
}

/// Reads on; returns whether there may be more to read.
bool CallReader::step(std::vector<Part>& parts) {
    using Begin = CallSyntax::Begin;
    switch (state_) {
        case State::begin:
            if (held_.empty()) return false;
            state_ =
                syntax_.begin == Begin::brace && held_.front() == '{' ? State::head : State::text;
            return true;
        case State::text:
            return step_text(parts);
        case State::opening: {  // behind a token, perhaps with a space
            const std::size_t found = held_.find(syntax_.opening);
            if (found == std::string::npos) return false;
            held_.erase(0, found + syntax_.opening.size());
            state_ = State::head;
            return true;
        }
        case State::head:
            return step_head(parts);
        case State::arguments:
            return step_arguments(parts);
        case State::behind:
            return step_behind();
    }
    return false;
}

/// The end of the line before a call belongs to it.
bool CallReader::step_text(std::vector<Part>& parts) {
    if (syntax_.begin != CallSyntax::Begin::text) {
        show(parts, Part::Kind::text, held_.size());
        return false;
    }
    const std::size_t found = held_.find(syntax_.opening);
    if (found != std::string::npos) {
        const bool line = found > 0 && held_[found - 1] == '\n';
        show(parts, Part::Kind::text, line ? found - 1 : found);
        held_.erase(0, syntax_.opening.size() + (line ? 1 : 0));
        state_ = State::head;
        return true;
    }
    const std::size_t kept = std::max(beginning_at_end(held_, syntax_.opening),
                                      beginning_at_end(held_, '\n' + syntax_.opening));
    show(parts, Part::Kind::text, held_.size() - kept);
    return false;
}

bool CallReader::step_head(std::vector<Part>& parts) {
    constexpr std::string_view before = R"({"name": ")";
    const std::string behind = "\", \"" + syntax_.arguments + "\": ";
    open_ = true;
    const std::size_t end = held_.find(behind);
    if (end == std::string::npos) return false;
    held_.erase(0, before.size());
    show(parts, Part::Kind::call, end - before.size());
    held_.erase(0, behind.size());
    state_ = State::arguments;
    return true;
}

bool CallReader::step_arguments(std::vector<Part>& parts) {
    for (std::size_t i = 0; i < held_.size(); ++i) {
        const char letter = held_[i];
        if (in_string_) {
            in_string_ = escaped_ || letter != '"';
            escaped_ = !escaped_ && letter == '\\';
            continue;
        }
        in_string_ = letter == '"';
        if (letter == '{' || letter == '[') ++depth_;
        if (letter != '}' && letter != ']') continue;
        if (--depth_ > 0) continue;
        show(parts, Part::Kind::arguments, i + 1);
        state_ = State::behind;
        return true;
    }
    show(parts, Part::Kind::arguments, held_.size());
    return false;
}

bool CallReader::step_behind() {
    if (open_ && held_.starts_with('}' + syntax_.closing)) open_ = false;
    if (syntax_.between.empty() || !held_.starts_with('}' + syntax_.between)) return false;
    held_.erase(0, 1 + syntax_.between.size());
    state_ = State::head;
    return true;
}

}  // namespace slip
