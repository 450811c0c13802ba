#include "programs/endpoint/parsing/responses.hpp"

#include <array>

#include "programs/endpoint/parsing/common.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* unsupported = "unsupported_parameter";

/// Nothing is stored, so nothing that was stored can be gone on with.
constexpr std::array unsupported_in_responses{Unsupported{"previous_response_id", "null"},
                                              Unsupported{"conversation", "null"},
                                              Unsupported{"store", "false"},
                                              Unsupported{"background", "false"},
                                              Unsupported{"include", "[]"},
                                              Unsupported{"max_tool_calls", "null"},
                                              Unsupported{"prompt", "null"},
                                              Unsupported{"reasoning", "{}"},
                                              Unsupported{"tools", "[]"},
                                              Unsupported{"top_logprobs", "0"},
                                              Unsupported{"truncation", "\"disabled\""}};

/// A text, or a list of parts that are texts. `written`: of the assistant.
std::string text_of(const json& content, const std::string& where, bool written) {
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array()) refuse_field(where, "expected a text or a list of parts");
    const std::string kind = written ? "output_text" : "input_text";
    std::string text;
    for (std::size_t i = 0; i < content.size(); ++i) {
        Fields part(content[i], where + '[' + std::to_string(i) + ']');
        if (part.text("type") != kind) {
            refuse_field(part.name("type"),
                         "expected \"" + kind + "\": this server reads texts only", unsupported);
        }
        text += part.text("text");
        part.refuse_unsupported(
            std::array{Unsupported{"annotations", "[]"}, Unsupported{"logprobs", "[]"}});
        part.refuse_others();
    }
    return text;
}

/// One item of the input: a message, perhaps one that an answer had.
ChatMessage message_of(const json& value, const std::string& where) {
    Fields item(value, where);
    if (item.find("type") != nullptr && item.text("type") != "message") {
        refuse_field(item.name("type"), "expected \"message\"", unsupported);
    }
    ChatMessage message;
    message.role = role_of(item.text("role"), item.name("role"));
    if (message.role == ChatMessage::Role::tool) {
        refuse_field(item.name("role"), "expected system, developer, user or assistant");
    }
    message.text = text_of(item.required("content"), item.name("content"),
                           message.role == ChatMessage::Role::assistant);
    for (const char* name : {"id", "status"}) {
        if (item.find(name) != nullptr) item.text(name);
    }
    item.refuse_others();
    return message;
}

/// What instructs comes before the input, and before what the system says there.
std::vector<ChatMessage> messages_of(const json& input, const std::string& instructions) {
    std::vector<ChatMessage> messages;
    if (!instructions.empty()) messages.push_back({ChatMessage::Role::system, instructions});
    if (input.is_string()) {
        messages.push_back({ChatMessage::Role::user, input.get<std::string>()});
        return messages;
    }
    if (!input.is_array() || input.empty()) {
        refuse_field("input", "expected a text or a list of messages");
    }
    for (std::size_t i = 0; i < input.size(); ++i) {
        ChatMessage message = message_of(input[i], "input[" + std::to_string(i) + ']');
        const bool instructs = i == 0 && message.role == ChatMessage::Role::system;
        if (instructs && !messages.empty()) {
            messages.front().text += "\n\n" + message.text;
        } else {
            messages.push_back(std::move(message));
        }
    }
    return messages;
}

/// `text` is "text" in the order in which it was written.
void read_format(const json& value, const ordered_json& text, GenerationOrder& order) {
    Fields format(value, "text.format");
    const std::string type = format.text("type");
    if (type == "json_object") {
        order.grammar = Grammar::json_objects();
    } else if (type == "json_schema") {
        for (const char* name : {"name", "description"}) {
            if (format.find(name) != nullptr) format.text(name);
        }
        format.boolean("strict");  // it always is
        format.required("schema");
        const std::string schema = text.at("format").at("schema").dump();
        order.grammar =
            grammar_of("text.format.schema", [&] { return Grammar::from_json_schema(schema); });
        order.grammar_field = "text.format";
    } else if (type != "text") {
        refuse_field("text.format.type", "expected text, json_object or json_schema");
    }
    format.refuse_others();
}

void read_text(Fields& fields, std::string_view body, GenerationOrder& order) {
    const json* const found = fields.find("text");
    if (found == nullptr) return;
    Fields text(*found, "text");
    if (const json* const format = text.find("format")) {
        const ordered_json written = ordered_json::parse(body).at("text");
        read_format(*format, written, order);
        order.response->format = written.at("format").dump();
    }
    text.refuse_unsupported(std::array{Unsupported{"verbosity", "null"}});
    text.refuse_others();
}

}  // namespace

GenerationOrder parse_response(std::string_view body) {
    const json value = parse(body);
    Fields fields(value, "");
    GenerationOrder order;
    ResponseOrder& response = order.response.emplace();
    order.model = fields.text("model");
    order.sampling = sampling_of(fields);
    if (fields.find("instructions") != nullptr) response.instructions = fields.text("instructions");
    order.messages = messages_of(fields.required("input"), response.instructions);
    order.max_tokens = fields.integer("max_output_tokens", 1, largest_count);
    order.stream = fields.boolean("stream");
    if (const json* const options = fields.find("stream_options")) {
        Fields inner(*options, "stream_options");
        inner.refuse_unsupported(std::array{Unsupported{"include_obfuscation", "false"}});
        inner.refuse_others();
    }
    read_text(fields, body, order);
    pass_over_harmless(fields);
    fields.boolean("parallel_tool_calls");  // there are none
    const json* const choice = fields.find("tool_choice");
    if (choice != nullptr && *choice != "auto" && *choice != "none") {
        refuse_field("tool_choice", "has no meaning without 'tools'");
    }
    fields.refuse_unsupported(unsupported_in_responses);
    fields.refuse_others();
    return order;
}

}  // namespace slip::endpoint
