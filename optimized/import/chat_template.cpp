// MODEL-18: chat formats.
#include "optimized/import/chat_template.hpp"

#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/gguf_model.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {
namespace {

using nlohmann::json;

/// For formats without a place for the system's message: it begins the user's first one.
std::vector<Turn> with_system_in_user(std::span<const Turn> turns) {
    std::vector<Turn> rest(turns.begin(), turns.end());
    if (rest.size() > 1 && rest.front().role == "system") {
        rest[1].text = rest[0].text + "\n\n" + rest[1].text;
        rest.erase(rest.begin());
    }
    return rest;
}

void write_chatml(ChatWriter& writer, std::span<const Turn> turns) {
    for (const Turn& turn : turns) {
        writer.mark("<|im_start|>")
            .text(turn.role + "\n" + turn.text)
            .mark("<|im_end|>")
            .text("\n");
    }
    writer.mark("<|im_start|>").text("assistant\n");
}

void write_gemma(ChatWriter& writer, std::span<const Turn> turns) {
    writer.mark("<bos>");
    for (const Turn& turn : with_system_in_user(turns)) {
        writer.mark("<start_of_turn>").text(turn.role == "assistant" ? "model\n" : "user\n");
        writer.text(trimmed(turn.text)).mark("<end_of_turn>").text("\n");
    }
    writer.mark("<start_of_turn>").text("model\n");
}

void write_llama2(ChatWriter& writer, std::span<const Turn> turns) {
    std::string system;
    for (const Turn& turn : turns) {
        if (turn.role == "system") {
            system = "<<SYS>>\n" + turn.text + "\n<</SYS>>\n\n";
        } else if (turn.role == "user") {
            writer.mark("<s>").text("[INST] " + std::exchange(system, "")).text(trimmed(turn.text));
            writer.text(" [/INST]");
        } else {
            writer.text(" ").text(trimmed(turn.text)).text(" ").mark("</s>");
        }
    }
}

void write_llama3(ChatWriter& writer, std::span<const Turn> turns) {
    const auto head = [&](std::string_view role) {
        writer.mark("<|start_header_id|>").text(role).mark("<|end_header_id|>").text("\n\n");
    };
    writer.mark("<|begin_of_text|>");
    for (const Turn& turn : turns) {
        head(turn.role);
        writer.text(trimmed(turn.text)).mark("<|eot_id|>");
    }
    head("assistant");
}

/// Newer tokenizers have marks around instructions, without spaces; the first ones had text.
void write_mistral(ChatWriter& writer, std::span<const Turn> turns, bool marks) {
    const char* space = marks ? "" : " ";
    writer.mark("<s>");
    for (const Turn& turn : with_system_in_user(turns)) {
        if (turn.role == "user") {
            writer.mark_or_text("[INST]").text(space).text(turn.text).text(space);
            writer.mark_or_text("[/INST]");
        } else {
            writer.text(turn.text).mark("</s>");
        }
    }
}

void write_phi3(ChatWriter& writer, std::span<const Turn> turns) {
    for (const Turn& turn : turns) {
        writer.mark("<|" + turn.role + "|>").text("\n" + turn.text).mark("<|end|>").text("\n");
    }
    writer.mark("<|assistant|>").text("\n");
}

struct Format {
    const char* name;
    /// All of them stand in the template of a model with this format.
    std::vector<const char*> signs;
    const char* end;
};

const std::vector<Format>& formats() {
    static const std::vector<Format> known{
        {"chatml", {"<|im_start|>", "<|im_end|>"}, "<|im_end|>"},
        {"gemma", {"<start_of_turn>", "<end_of_turn>"}, "<end_of_turn>"},
        {"llama2", {"[INST]", "<<SYS>>"}, "</s>"},
        {"llama3", {"<|start_header_id|>", "<|eot_id|>"}, "<|eot_id|>"},
        {"mistral", {"[INST]", "[/INST]"}, "</s>"},
        {"phi3", {"<|user|>", "<|assistant|>", "<|end|>"}, "<|end|>"}};
    return known;
}

const Format& format_named(std::string_view name) {
    std::string names;
    for (const Format& format : formats()) {
        if (format.name == name) return format;
        names += std::string(names.empty() ? "" : ", ") + format.name;
    }
    throw BadInput("chat format \"" + std::string(name) + "\" is not known: expected one of " +
                   names);
}

constexpr const char* template_file = "chat_template.jinja";
constexpr const char* configuration_file = "tokenizer_config.json";

}  // namespace

std::vector<std::string> chat_formats() {
    std::vector<std::string> names;
    for (const Format& format : formats()) names.emplace_back(format.name);
    return names;
}

std::vector<std::filesystem::path> chat_template_files(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const char* name : {template_file, configuration_file}) {
        if (std::filesystem::exists(folder / name)) files.push_back(folder / name);
    }
    return files;
}

std::string chat_template_of(const std::filesystem::path& model) {
    if (model.extension() == ".gguf") {
        const base::MappedFile file(model);
        return gguf_chat_template(parse_gguf(file.bytes(), model));
    }
    if (std::filesystem::exists(model / template_file)) {
        return base::read_file(model / template_file);
    }
    const std::filesystem::path path = model / configuration_file;
    if (!std::filesystem::exists(path)) return {};
    const json config = parse_json(base::read_file(path), path);
    if (!config.is_object() || !config.contains("chat_template")) return {};
    const json& value = config.at("chat_template");
    if (value.is_string()) return value.get<std::string>();
    std::string all;  // several with names: they share their marks
    for (const json& named : value.is_array() ? value : json::array()) {
        if (named.is_object() && named.contains("template") && named.at("template").is_string()) {
            all += named.at("template").get<std::string>();
        }
    }
    return all;
}

std::optional<std::string> chat_format_of(const std::filesystem::path& model) {
    const std::string text = chat_template_of(model);
    for (const Format& format : formats()) {
        const bool shown = std::all_of(format.signs.begin(), format.signs.end(), [&](auto* sign) {
            return text.find(sign) != std::string::npos;
        });
        if (shown) return format.name;
    }
    return std::nullopt;
}

std::vector<TokenId> encode_chat(const Tokenizer& tokenizer, std::string_view format,
                                 std::span<const Turn> turns) {
    const std::string name = format_named(format).name;
    ChatWriter writer(tokenizer);
    if (name == "chatml") write_chatml(writer, turns);
    if (name == "gemma") write_gemma(writer, joined(turns));
    if (name == "llama2") write_llama2(writer, joined(turns));
    if (name == "llama3") write_llama3(writer, turns);
    if (name == "mistral") {
        write_mistral(writer, joined(turns), tokenizer.marker("[INST]").has_value());
    }
    if (name == "phi3") write_phi3(writer, turns);
    return writer.finish();
}

TokenId end_of_answer(const Tokenizer& tokenizer, std::string_view format) {
    const char* end = format_named(format).end;
    const auto marker = tokenizer.marker(end);
    if (marker) return marker->id;
    throw BadInput("the tokenizer has no token " + json(end).dump() +
                   ", which the chat format needs");
}

}  // namespace slip::importing
