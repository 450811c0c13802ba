// SERVE-17: tools in the chat templates of Qwen, Llama and Mistral.
#include "optimized/import/chat_tools.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip::importing {
namespace {

using Json = nlohmann::ordered_json;  // fields stand in the order in which they were written
using Turns = std::span<const Turn>;
using Tools = std::span<const std::string>;

/// Qwen's marks that come from texts too, unless they are quoted.
constexpr std::array qwen_marks{"<tool_call>", "</tool_call>", "<tool_response>",
                                "</tool_response>"};

/// Llama's templates take the date from a clock where there is one. What a model is asked here
/// depends on the request alone, so it is the one that they have without.
constexpr std::string_view llama3_dates =
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";

void append_python(const Json& value, int indent, int depth, std::string& text) {
    const bool is_object = value.is_object();
    if ((!is_object && !value.is_array()) || value.empty()) {
        text += value.dump();
        return;
    }
    const auto line = [&](int level) {
        if (indent < 0) return;
        text += '\n';
        text.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
    };
    text += is_object ? '{' : '[';
    bool first = true;
    for (const auto& [name, entry] : value.items()) {
        if (!std::exchange(first, false)) text += indent < 0 ? ", " : ",";
        line(depth + 1);
        if (is_object) text += Json(name).dump() + ": ";
        append_python(entry, indent, depth + 1, text);
    }
    line(depth);
    text += is_object ? '}' : ']';
}

/// The system's message, if there is one, which comes first; `turns` become the others.
const Turn* take_system(Turns& turns) {
    if (turns.empty() || turns.front().role != "system") return nullptr;
    const Turn* const system = &turns.front();
    turns = turns.subspan(1);
    return system;
}

std::string_view without_line_ends(std::string_view text, bool front, bool back) {
    while (front && text.starts_with('\n')) text.remove_prefix(1);
    while (back && text.ends_with('\n')) text.remove_suffix(1);
    return text;
}

/// What an answer shows of its reasoning, and what it says.
struct Answer {
    std::string reasoning;
    std::string text;
};

/// Qwen3: the reasoning is shown if it is `kept` and there is any.
Answer parted(const std::string& text, bool kept) {
    constexpr std::string_view begin = "<think>";
    constexpr std::string_view end = "</think>";
    const std::size_t first = text.find(end);
    if (first == std::string::npos) return {"", text};
    std::string_view reasoning = std::string_view(text).substr(0, first);
    reasoning = without_line_ends(reasoning, false, true);
    const std::size_t begun = reasoning.rfind(begin);
    if (begun != std::string_view::npos) reasoning.remove_prefix(begun + begin.size());
    reasoning = without_line_ends(reasoning, true, true);
    const std::string_view answer =
        without_line_ends(std::string_view(text).substr(text.rfind(end) + end.size()), true, false);
    if (!kept || reasoning.empty()) return {"", std::string(answer)};
    return {"<think>\n" + std::string(reasoning) + "\n</think>\n\n", std::string(answer)};
}

/// Qwen3 keeps the reasoning of answers behind the user's last question.
std::size_t last_question(Turns turns) {
    for (std::size_t i = turns.size(); i-- > 0;) {
        const std::string& text = turns[i].text;
        const bool result =
            text.starts_with("<tool_response>") && text.ends_with("</tool_response>");
        if (turns[i].role == "user" && !result) return i;
    }
    return turns.size();
}

void write_qwen_system(ChatWriter& writer, const ToolStyle& style, const Turn* system,
                       Tools tools) {
    const bool says = system != nullptr || !style.default_system.empty();
    if (!says && tools.empty()) return;
    writer.mark("<|im_start|>").text("system\n");
    if (says) writer.quoted(system != nullptr ? system->text : style.default_system, qwen_marks);
    if (!tools.empty()) {
        if (says) writer.text("\n\n");
        writer.text(
            "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou "
            "are provided with function signatures within <tools></tools> XML tags:\n<tools>");
        for (const std::string& tool : tools) {
            writer.text("\n").quoted(as_python_writes(tool), qwen_marks);
        }
        writer.text(
            "\n</tools>\n\nFor each function call, return a json object with function name and "
            "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": "
            "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>");
    }
    writer.mark("<|im_end|>").text("\n");
}

void write_qwen_calls(ChatWriter& writer, const std::vector<Call>& calls, bool after_text) {
    for (const Call& call : calls) {
        if (std::exchange(after_text, true)) writer.text("\n");
        writer.text("<tool_call>\n{\"name\": \"" + call.name + "\", \"arguments\": ");
        writer.quoted(as_python_writes(call.arguments), qwen_marks).text("}\n</tool_call>");
    }
}

void write_qwen(ChatWriter& writer, const ToolStyle& style, Turns turns, Tools tools) {
    const Turn* const system = take_system(turns);
    write_qwen_system(writer, style, system, tools);
    const std::size_t question = last_question(turns);
    for (std::size_t i = 0; i < turns.size(); ++i) {
        const auto& [role, text, calls, call_id] = turns[i];
        const bool is_result = role == "tool";
        if (!is_result || i == 0 || turns[i - 1].role != "tool") {
            writer.mark("<|im_start|>").text(is_result ? "user" : role);
        }
        if (is_result) {  // those of one answer are one message
            writer.text("\n<tool_response>\n").quoted(text, qwen_marks);
            writer.text("\n</tool_response>");
            if (i + 1 < turns.size() && turns[i + 1].role == "tool") continue;
        } else {
            const bool parts = style.parts_reasoning && role == "assistant";
            const Answer answer = parts ? parted(text, i > question) : Answer{"", text};
            writer.text("\n").quoted(answer.reasoning, qwen_marks).quoted(answer.text, qwen_marks);
            write_qwen_calls(writer, calls, !answer.text.empty());
        }
        writer.mark("<|im_end|>").text("\n");
    }
    writer.mark("<|im_start|>").text("assistant\n");
}

void write_llama3_tools(ChatWriter& writer, Tools tools) {
    writer.text(
        "Given the following functions, please respond with a JSON for a function call with its "
        "proper arguments that best answers the given prompt.\n\nRespond in the format {\"name\": "
        "function name, \"parameters\": dictionary of argument name and its value}.Do not use "
        "variables.\n\n");
    for (const std::string& tool : tools) writer.text(as_python_writes(tool, 4)).text("\n\n");
}

/// The tools stand before the first message of the user.
void write_llama3(ChatWriter& writer, Turns turns, Tools tools) {
    const auto head = [&](std::string_view role) {
        writer.mark("<|start_header_id|>").text(role).mark("<|end_header_id|>").text("\n\n");
    };
    const Turn* const system = take_system(turns);
    writer.mark("<|begin_of_text|>");
    head("system");
    if (!tools.empty()) writer.text("Environment: ipython\n");
    writer.text(llama3_dates);
    if (system != nullptr) writer.text(trimmed(system->text));
    writer.mark("<|eot_id|>");
    for (const auto& [role, text, calls, call_id] : turns) {
        head(role == "tool" ? "ipython" : role);
        if (!tools.empty()) write_llama3_tools(writer, std::exchange(tools, {}));
        if (calls.empty()) {
            writer.text(role == "tool" ? Json(text).dump() : std::string(trimmed(text)));
        } else if (calls.size() == 1) {
            writer.text("{\"name\": \"" + calls.front().name + "\", \"parameters\": ");
            writer.text(as_python_writes(calls.front().arguments)).text("}");
        } else {
            throw BadInput("this model's answers have one call at most");
        }
        writer.mark("<|eot_id|>");
    }
    head("assistant");
}

/// As the template writes it, which quotes texts as they are.
std::string mistral_tool(const std::string& tool) {
    std::string text = "{\"type\": \"function\", \"function\": {";
    bool first = true;
    const Json definition = Json::parse(tool);
    for (const auto& [name, value] : definition.at("function").items()) {
        if (!std::exchange(first, false)) text += ", ";
        text += '"' + name + "\": ";
        text += value.is_string() ? '"' + value.get<std::string>() + '"'
                                  : as_python_writes(value.dump());
    }
    return text + "}}";
}

void write_mistral_calls(ChatWriter& writer, const std::vector<Call>& calls) {
    writer.mark("[TOOL_CALLS]").text("[");
    for (std::size_t i = 0; i < calls.size(); ++i) {
        writer.text(i == 0 ? "" : ", ");
        writer.text("{\"name\": \"" + calls[i].name + "\", \"arguments\": ");
        writer.text(as_python_writes(calls[i].arguments) + ", \"id\": \"" + calls[i].id + "\"}");
    }
    writer.text("]").mark("</s>");
}

/// The tools stand before the last message of the user, and what the system says stands in it if
/// nothing follows.
void write_mistral(ChatWriter& writer, Turns turns, Tools tools) {
    const Turn* const system = take_system(turns);
    std::size_t last_user = 0;
    for (std::size_t i = 0; i < turns.size(); ++i) {
        if (turns[i].role == "user") last_user = i;
    }
    writer.mark("<s>");
    for (std::size_t i = 0; i < turns.size(); ++i) {
        const auto& [role, text, calls, call_id] = turns[i];
        if (role == "user") {
            if (i == last_user && !tools.empty()) {
                writer.mark("[AVAILABLE_TOOLS]").text("[");
                for (std::size_t tool = 0; tool < tools.size(); ++tool) {
                    writer.text(tool == 0 ? "" : ", ").text(mistral_tool(tools[tool]));
                }
                writer.text("]").mark("[/AVAILABLE_TOOLS]");
            }
            writer.mark("[INST]");
            if (system != nullptr && i + 1 == turns.size()) writer.text(system->text + "\n\n");
            writer.text(text).mark("[/INST]");
        } else if (!calls.empty()) {
            write_mistral_calls(writer, calls);
        } else if (role == "assistant") {
            writer.text(text).mark("</s>");
        } else {
            writer.mark("[TOOL_RESULTS]").text("{\"content\": " + text + ", \"call_id\": \"");
            writer.text(call_id + "\"}").mark("[/TOOL_RESULTS]");
        }
    }
}

struct Shown {
    const char* format;
    ToolStyle::Family family;
    /// All of them stand in the template.
    std::array<const char*, 3> signs;
};

constexpr std::array shown_styles{
    Shown{"chatml",
          ToolStyle::Family::qwen,
          {"For each function call, return a json object", "<tool_call>", "<tool_response>"}},
    Shown{"llama3",
          ToolStyle::Family::llama3,
          {"tools_in_user_message", "Environment: ipython", "\"parameters\": "}},
    Shown{"mistral",
          ToolStyle::Family::mistral,
          {"[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "\"call_id\": "}}};

constexpr const char* qwen2_system =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";

}  // namespace

std::optional<ToolStyle> tool_style_of(std::string_view chat_template, std::string_view format) {
    const auto has = [&](std::string_view sign) {
        return chat_template.find(sign) != std::string_view::npos;
    };
    for (const Shown& shown : shown_styles) {
        // Later models of Mistral write calls in other ways.
        if (format != shown.format || has("[SYSTEM_PROMPT]")) continue;
        if (!std::all_of(shown.signs.begin(), shown.signs.end(), has)) continue;
        return ToolStyle{shown.family, has(qwen2_system) ? qwen2_system : "",
                         has("reasoning_content")};
    }
    return std::nullopt;
}

std::vector<TokenId> encode_chat_with_tools(const Tokenizer& tokenizer, const ToolStyle& style,
                                            Turns turns, Tools tools) {
    ChatWriter writer(tokenizer);
    switch (style.family) {
        case ToolStyle::Family::qwen:
            write_qwen(writer, style, turns, tools);
            break;
        case ToolStyle::Family::llama3:
            write_llama3(writer, turns, tools);
            break;
        case ToolStyle::Family::mistral:
            write_mistral(writer, joined(turns), tools);
    }
    return writer.finish();
}

std::string as_python_writes(std::string_view json, int indent) {
    std::string text;
    append_python(Json::parse(json), indent, 0, text);
    return text;
}

}  // namespace slip::importing
