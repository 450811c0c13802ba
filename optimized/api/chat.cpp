// MODEL-18, SERVE-17: conversations.
#include "slip/chat.hpp"

#include <algorithm>
#include <set>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/chat_template.hpp"
#include "optimized/import/chat_tools.hpp"
#include "optimized/import/json.hpp"

namespace slip {
namespace {

const char* name_of(ChatMessage::Role role) {
    switch (role) {
        case ChatMessage::Role::system:
            return "system";
        case ChatMessage::Role::user:
            return "user";
        case ChatMessage::Role::assistant:
            return "assistant";
        case ChatMessage::Role::tool:
            return "tool";
    }
    throw BadInput("a message has no known role");
}

/// "chatml, gemma, ... or phi3".
std::string any_format() {
    const std::vector<std::string> names = importing::chat_formats();
    std::string text = names.front();
    for (std::size_t i = 1; i < names.size(); ++i) {
        text += (i + 1 < names.size() ? ", " : " or ") + names[i];
    }
    return text;
}

/// Whether each call has its result, behind the message that it is in, and no other message has.
bool has_results(std::span<const ChatMessage> messages) {
    std::set<std::string> open;  // ids of calls without one
    for (const ChatMessage& message : messages) {
        if (message.role == ChatMessage::Role::tool) {
            if (open.erase(message.call_id) == 0) return false;
            continue;
        }
        if (!open.empty()) return false;
        for (const ToolCall& call : message.calls) {
            if (!open.insert(call.id).second) return false;
        }
    }
    return open.empty();
}

void require_order(std::span<const ChatMessage> messages) {
    using Role = ChatMessage::Role;
    const std::size_t first = !messages.empty() && messages.front().role == Role::system ? 1 : 0;
    bool right = messages.size() > first && messages[first].role == Role::user &&
                 (messages.back().role == Role::user || messages.back().role == Role::tool);
    for (std::size_t i = first; i < messages.size(); ++i) {
        right = right && messages[i].role != Role::system;
    }
    if (!right) {
        throw BadInput(
            "the messages of a conversation are out of order: expected at most one of the system, "
            "then the user's and the assistant's, the user's first and last");
    }
    if (!has_results(messages)) {
        throw BadInput(
            "expected, behind a message with calls, one result for each of them, with the ids of "
            "the calls, which differ");
    }
}

bool has_tools(std::span<const ChatMessage> messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const ChatMessage& message) { return !message.calls.empty(); });
}

/// None: the tokenizer lacks the mark.
std::optional<CallSyntax> syntax_of(const importing::ToolStyle& style,
                                    const importing::Tokenizer& tokenizer) {
    using Family = importing::ToolStyle::Family;
    using Begin = CallSyntax::Begin;
    if (style.family == Family::qwen) {
        return CallSyntax{
            Begin::text,     0, "<tool_call>\n", "arguments", "\n</tool_call>\n<tool_call>\n",
            "\n</tool_call>"};
    }
    if (style.family == Family::llama3)
        return CallSyntax{Begin::brace, 0, "", "parameters", "", ""};
    const auto marker = tokenizer.marker("[TOOL_CALLS]");
    if (!marker) return std::nullopt;
    return CallSyntax{Begin::token, marker->id, "[", "arguments", ", ", "]", 9};
}

void require_object(const std::string& text) {
    if (!importing::parse_json(text, "a call's arguments").is_object()) {
        throw BadInput("a call's arguments: expected an object in JSON");
    }
}

}  // namespace

struct ChatFormat::Style {
    importing::ToolStyle style;
};

ChatFormat::ChatFormat(const LanguageModel& model, const std::string& name)
    : model_(&model), name_(name) {
    const Access::LanguageState& state = Access::of(model);
    if (name_.empty()) {
        const auto shown = importing::chat_format_of(state.files->folder());
        if (!shown) {
            throw BadInput(
                state.files->folder().string() +
                ": shows no chat format: expected a chat_template in "
                "tokenizer_config.json that is known, or the name of a format (--chat-format): " +
                any_format());
        }
        name_ = *shown;
    }
    const importing::Tokenizer& tokenizer = state.required_tokenizer();
    end_ = importing::end_of_answer(tokenizer, name_);
    const std::string text = importing::chat_template_of(state.files->folder());
    if (const auto style = importing::tool_style_of(text, name_)) {
        style_ = std::make_shared<const Style>(Style{*style});
        syntax_ = syntax_of(*style, tokenizer);
        if (!syntax_) style_ = nullptr;
    }
}

std::vector<std::string> ChatFormat::names() { return importing::chat_formats(); }

std::vector<TokenId> ChatFormat::encode(std::span<const ChatMessage> messages,
                                        std::span<const Tool> tools) const {
    require_order(messages);
    std::vector<importing::Turn> turns;
    for (const ChatMessage& message : messages) {
        importing::Turn& turn = turns.emplace_back(name_of(message.role), message.text);
        turn.call_id = message.call_id;
        for (const ToolCall& call : message.calls) {
            require_object(call.arguments);
            if (syntax_ && syntax_->id_length > 0 && call.id.size() != syntax_->id_length) {
                throw BadInput("expected ids of calls of " + std::to_string(syntax_->id_length) +
                               " characters, as this model has them");
            }
            turn.calls.push_back({call.id, call.name, call.arguments});
        }
    }
    const importing::Tokenizer& tokenizer = Access::of(*model_).required_tokenizer();
    if (tools.empty() && !has_tools(messages)) {
        return importing::encode_chat(tokenizer, name_, turns);
    }
    if (!style_) throw BadInput("the chat template of this model has no place for tools");
    std::vector<std::string> definitions;
    for (const Tool& tool : tools) definitions.push_back(tool.definition);
    return importing::encode_chat_with_tools(tokenizer, style_->style, turns, definitions);
}

}  // namespace slip
