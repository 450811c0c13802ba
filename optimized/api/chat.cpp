// MODEL-18: conversations.
#include "slip/chat.hpp"

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/chat_template.hpp"

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

void require_order(std::span<const ChatMessage> messages) {
    using Role = ChatMessage::Role;
    const std::size_t first = !messages.empty() && messages.front().role == Role::system ? 1 : 0;
    bool right = messages.size() > first && messages[first].role == Role::user &&
                 messages.back().role == Role::user;
    for (std::size_t i = first; i < messages.size(); ++i) {
        right = right && messages[i].role != Role::system;
    }
    if (right) return;
    throw BadInput(
        "the messages of a conversation are out of order: expected at most one of the system, "
        "then the user's and the assistant's, the user's first and last");
}

}  // namespace

ChatFormat::ChatFormat(const LanguageModel& model, const std::string& name)
    : model_(&model), name_(name) {
    const Access::LanguageState& state = Access::of(model);
    if (name_.empty()) {
        const auto shown = importing::chat_format_of(state.files->directory());
        if (!shown) {
            throw BadInput(
                state.files->directory().string() +
                ": shows no chat format: expected a chat_template in "
                "tokenizer_config.json that is known, or the name of a format (--chat-format): " +
                any_format());
        }
        name_ = *shown;
    }
    end_ = importing::end_of_answer(state.required_tokenizer(), name_);
}

std::vector<std::string> ChatFormat::names() { return importing::chat_formats(); }

std::vector<TokenId> ChatFormat::encode(std::span<const ChatMessage> messages) const {
    require_order(messages);
    std::vector<importing::Turn> turns;
    for (const ChatMessage& message : messages) {
        turns.emplace_back(name_of(message.role), message.text);
    }
    return importing::encode_chat(Access::of(*model_).required_tokenizer(), name_, turns);
}

}  // namespace slip
