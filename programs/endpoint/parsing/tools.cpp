#include "programs/endpoint/parsing/tools.hpp"

#include <algorithm>
#include <array>

#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t longest_name = 64;
/// Bytes of all schemas together, because each of them is read.
constexpr std::size_t most_schema_bytes = std::size_t{1} << 16;

bool is_name(const std::string& text) {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return !text.empty() && text.size() <= longest_name &&
           text.find_first_not_of(letters) == std::string::npos;
}

/// A name that is written into prompts without quotation.
std::string name_of(Fields& fields, const std::string& field) {
    std::string name = fields.text(field);
    if (!is_name(name)) {
        refuse_field(fields.name(field), "expected 1 to 64 letters, digits, '_' and '-'");
    }
    return name;
}

/// What the model is shown of a function: `strict` says nothing to it, and null is absent.
ordered_json shown(const ordered_json& function) {
    ordered_json fields = ordered_json::object();
    for (const auto& [name, value] : function.items()) {
        if (!value.is_null() && name != "strict") fields[name] = value;
    }
    return fields;
}

/// What the arguments of a call may be; none: any object. `must_fit`: what is not understood is
/// refused.
/// `room`: the bytes that schemas may still have.
std::optional<std::string> schema_of(const ordered_json& function, const std::string& where,
                                     bool must_fit, std::size_t& room) {
    if (!function.contains("parameters")) {
        return R"({"type":"object","additionalProperties":false})";
    }
    const ordered_json& schema = function.at("parameters");
    if (schema.empty() && !must_fit) return std::nullopt;
    if (!schema.contains("type") || schema.at("type") != "object") {
        refuse_field(where, "expected a JSON schema of \"type\": \"object\"");
    }
    std::string text = schema.dump();
    if (text.size() > room) {
        refuse_field("tools", "expected schemas of at most 65536 bytes together");
    }
    room -= text.size();
    try {
        static_cast<void>(Grammar::from_json_schema(text));
    } catch (const BadInput& error) {
        if (must_fit) refuse_field(where, error.what());
        return std::nullopt;
    }
    return text;
}

/// `as_written`: the tool with its fields in the client's order.
Tool tool_of(const json& value, ordered_json as_written, const std::string& where, CallOrder& calls,
             std::size_t& room) {
    Fields outer(value, where);
    if (outer.text("type") != "function") {
        refuse_field(outer.name("type"), "expected \"function\"", "unsupported_parameter");
    }
    Fields function(outer.required("function"), outer.name("function"));
    Tool tool;
    tool.name = name_of(function, "name");
    if (function.find("description") != nullptr) function.text("description");
    if (const json* const schema = function.find("parameters")) {
        if (!schema->is_object()) refuse_field(function.name("parameters"), "expected an object");
    }
    const bool is_strict = function.boolean("strict");
    calls.strict = calls.strict || is_strict;
    const bool must_fit = is_strict || calls.calling == Calling::forced;
    function.refuse_others();
    outer.refuse_others();
    ordered_json& written = as_written.at("function");
    written = shown(written);
    tool.parameters = schema_of(written, function.name("parameters"), must_fit, room);
    tool.definition = as_written.dump();
    return tool;
}

void require_known(const CallOrder& calls, const std::string& name) {
    const bool known = std::any_of(calls.tools.begin(), calls.tools.end(),
                                   [&](const Tool& tool) { return tool.name == name; });
    if (!known) refuse_field("tool_choice.function.name", "there is no such function in 'tools'");
}

/// "none", "auto", "required" or one function.
void read_choice(Fields& fields, CallOrder& calls) {
    const json* const choice = fields.find("tool_choice");
    if (choice == nullptr || *choice == "auto") return;
    calls.calling = *choice == "none" ? Calling::never : Calling::forced;
    if (choice->is_string()) {
        if (*choice != "none" && *choice != "required") {
            refuse_field("tool_choice", "expected none, auto, required or a function");
        }
        return;
    }
    Fields named(*choice, "tool_choice");
    if (named.text("type") != "function") {
        refuse_field("tool_choice.type", "expected \"function\"", "unsupported_parameter");
    }
    Fields function(named.required("function"), "tool_choice.function");
    calls.only = name_of(function, "name");
    function.refuse_others();
    named.refuse_others();
}

/// What an answer with calls cannot have as well.
void require_compatible(const GenerationOrder& order) {
    if (order.calls->calling == Calling::never) return;
    if (order.grammar) {
        // JSON objects of any kind are no texts of the client's choosing: that has no field.
        const bool is_grammar =
            order.grammar_field != nullptr && std::string_view(order.grammar_field) == "grammar";
        refuse_field(is_grammar ? "grammar" : "response_format", "contradicts 'tools'");
    }
    if (order.log_probabilities) {
        refuse_field("logprobs", "is not supported beside 'tools'", "unsupported_parameter");
    }
}

}  // namespace

void read_tools(Fields& fields, std::string_view body, GenerationOrder& order) {
    const bool several =
        fields.find("parallel_tool_calls") == nullptr || fields.boolean("parallel_tool_calls");
    const json* const list = fields.find("tools");
    if (list != nullptr && !list->is_array()) refuse_field("tools", "expected a list");
    if (list == nullptr || list->empty()) {
        const json* const choice = fields.find("tool_choice");
        if (choice != nullptr && *choice != "none") {
            refuse_field("tool_choice", "has no meaning without 'tools'");
        }
        return;
    }
    if (list->size() > most_tools) refuse_field("tools", "expected at most 128 functions");
    CallOrder& calls = order.calls.emplace();
    calls.several = several;
    read_choice(fields, calls);
    const ordered_json as_written = ordered_json::parse(body).at("tools");
    std::set<std::string> names;
    std::size_t room = most_schema_bytes;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string where = "tools[" + std::to_string(i) + ']';
        calls.tools.push_back(tool_of((*list)[i], as_written[i], where, calls, room));
        if (!names.insert(calls.tools.back().name).second) {
            refuse_field(where + ".function.name", "another function has this name");
        }
    }
    if (!calls.only.empty()) require_known(calls, calls.only);
    require_compatible(order);
}

void read_calls(Fields& fields, ChatMessage& message) {
    using Role = ChatMessage::Role;
    if (message.role == Role::tool) message.call_id = name_of(fields, "tool_call_id");
    const json* const id = fields.find("tool_call_id");
    if (id != nullptr && message.role != Role::tool) {
        refuse_field(fields.name("tool_call_id"), "expected in a message of role tool alone");
    }
    const json* const list = fields.find("tool_calls");
    if (list == nullptr || (list->is_array() && list->empty())) return;
    const std::string where = fields.name("tool_calls");
    if (!list->is_array()) refuse_field(where, "expected a list");
    if (message.role != Role::assistant) {
        refuse_field(where, "expected in a message of role assistant alone");
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
        Fields call((*list)[i], where + '[' + std::to_string(i) + ']');
        if (call.text("type") != "function") {
            refuse_field(call.name("type"), "expected \"function\"", "unsupported_parameter");
        }
        Fields function(call.required("function"), call.name("function"));
        ToolCall& read = message.calls.emplace_back();
        read.id = name_of(call, "id");
        read.name = name_of(function, "name");
        read.arguments = function.text("arguments");
        try {
            if (!importing::parse_json(read.arguments, "the text").is_object()) {
                refuse_field(function.name("arguments"), "expected an object in JSON");
            }
        } catch (const BadInput& error) {
            refuse_field(function.name("arguments"), error.what());
        }
        function.refuse_others();
        call.refuse_others();
    }
}

}  // namespace slip::endpoint
