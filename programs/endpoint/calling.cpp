#include "programs/endpoint/calling.hpp"

#include <algorithm>

#include "programs/endpoint/parsing/fields.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

bool has_calls(const ChatMessage& message) {
    return message.role == ChatMessage::Role::tool || !message.calls.empty();
}

/// Those that an answer may call.
std::vector<Tool> callable(const CallOrder& calls) {
    std::vector<Tool> tools = calls.tools;
    if (!calls.only.empty()) {
        std::erase_if(tools, [&](const Tool& tool) { return tool.name != calls.only; });
    }
    return tools;
}

}  // namespace

void require_calls_supported(const GenerationOrder& order, const ChatFormat& chat, bool grammars) {
    constexpr const char* unsupported = "unsupported_parameter";
    if (!chat.call_syntax()) {
        const char* const none = "the chat template of this model has no place for tools";
        if (order.calls) refuse_field("tools", none, unsupported);
        if (std::any_of(order.messages.begin(), order.messages.end(), has_calls)) {
            refuse_field("messages", none, unsupported);
        }
    }
    if (!order.calls || grammars || order.calls->calling == Calling::never) return;
    const char* const free = "this server lets no client say what an answer may be";
    if (order.calls->calling == Calling::forced) refuse_field("tool_choice", free, unsupported);
    if (order.calls->strict) refuse_field("tools", std::string("'strict': ") + free, unsupported);
}

void constrain_calls(GenerationOrder& order, const ChatFormat& chat, bool grammars) {
    const CallOrder& calls = *order.calls;
    if (order.grammar) return;  // and no calls
    const auto tools = grammars ? callable(calls) : std::vector<Tool>();
    try {
        order.grammar =
            Grammar::of_answers(*chat.call_syntax(), tools, calls.calling, calls.several);
    } catch (const BadInput& error) {
        refuse_field("tools", error.what());
    }
}

std::size_t bytes_of(const ChatMessage& message) {
    std::size_t bytes = message.text.size();
    for (const ToolCall& call : message.calls) bytes += call.name.size() + call.arguments.size();
    return bytes;
}

std::size_t bytes_of(const CallOrder& calls) {
    std::size_t bytes = 0;
    for (const Tool& tool : calls.tools) bytes += tool.definition.size();
    return bytes;
}

}  // namespace slip::endpoint
