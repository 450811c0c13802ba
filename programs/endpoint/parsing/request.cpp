#include "programs/endpoint/parsing/request.hpp"

#include <sys/random.h>

#include <array>
#include <limits>

#include "optimized/import/json.hpp"
#include "programs/endpoint/parsing/common.hpp"
#include "programs/endpoint/parsing/fields.hpp"
#include "programs/endpoint/parsing/tools.hpp"
#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

using nlohmann::json;

constexpr std::array unsupported_in_completions{Unsupported{"suffix", "null"}};
constexpr std::array unsupported_in_chats{
    Unsupported{"functions", "[]"},           Unsupported{"function_call", "\"none\""},
    Unsupported{"modalities", R"(["text"])"}, Unsupported{"audio", "null"},
    Unsupported{"prediction", "null"},        Unsupported{"reasoning_effort", "null"},
    Unsupported{"verbosity", "null"},         Unsupported{"web_search_options", "null"}};

constexpr std::size_t largest_stop_bytes = 1024;
constexpr std::size_t most_biases = 1024;

std::uint64_t random_seed() {
    std::uint64_t seed = 0;
    if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        throw InternalError("the system gives no random bytes");
    }
    return seed;
}

std::uint64_t seed_of(Fields& fields) {
    const json* const found = fields.find("seed");
    if (found == nullptr) return random_seed();
    if (!found->is_number_integer()) refuse_field("seed", "expected an integer of 64 bits");
    return found->is_number_unsigned() ? found->get<std::uint64_t>()
                                       : static_cast<std::uint64_t>(found->get<std::int64_t>());
}

/// An object of token ids and what is added to their logits.
std::vector<std::pair<TokenId, double>> logit_bias_of(Fields& fields) {
    const json* const found = fields.find("logit_bias");
    std::vector<std::pair<TokenId, double>> biases;
    if (found == nullptr) return biases;
    Fields entries(*found, "logit_bias");
    if (found->size() > most_biases) refuse_field("logit_bias", "expected at most 1024 tokens");
    for (const auto& [name, value] : found->items()) {
        const bool digits = !name.empty() && name.size() <= 9 &&
                            name.find_first_not_of("0123456789") == std::string::npos;
        if (!digits) refuse_field("logit_bias", "expected token ids as names");
        biases.emplace_back(static_cast<TokenId>(std::stoi(name)),
                            entries.number(name, 0, -100, 100));
    }
    return biases;
}

std::vector<std::string> stops_of(Fields& fields) {
    const json* const found = fields.find("stop");
    if (found == nullptr) return {};
    const json list = found->is_array() ? *found : json::array({*found});
    if (list.size() > 4) refuse_field("stop", "expected at most 4 texts");
    std::vector<std::string> stops;
    for (const json& stop : list) {
        const auto* const text = stop.get_ptr<const std::string*>();
        if (text == nullptr || text->empty() || text->size() > largest_stop_bytes) {
            refuse_field("stop", "expected a text, or up to 4, of 1 to 1024 bytes each");
        }
        stops.push_back(*text);
    }
    return stops;
}

void read_stream(Fields& fields, GenerationOrder& order) {
    order.stream = fields.boolean("stream");
    const json* const options = fields.find("stream_options");
    if (options == nullptr) return;
    if (!order.stream) refuse_field("stream_options", "has no meaning without \"stream\": true");
    Fields inner(*options, "stream_options");
    order.include_usage = inner.boolean("include_usage");
    inner.refuse_unsupported(std::array{Unsupported{"include_obfuscation", "false"}});
    inner.refuse_others();
}

/// "response_format", as OpenAI has it, and "grammar", as llama.cpp's server has it. `body`: the
/// request, because properties of a schema are in the order in which they stand there.
void read_grammar(Fields& fields, std::string_view body, GenerationOrder& order) {
    if (fields.find("grammar") != nullptr) {
        const std::string text = fields.text("grammar");
        order.grammar = grammar_of("grammar", [&] { return Grammar::from_gbnf(text); });
        order.grammar_field = "grammar";
    }
    const json* const found = fields.find("response_format");
    if (found == nullptr) return;
    Fields format(*found, "response_format");
    const std::string type = format.text("type");
    if (type != "text" && order.grammar) refuse_field("response_format", "contradicts 'grammar'");
    if (type == "json_object") {
        order.grammar = Grammar::json_objects();
    } else if (type == "json_schema") {
        Fields named(format.required("json_schema"), "response_format.json_schema");
        for (const char* name : {"name", "description"}) {
            if (named.find(name) != nullptr) named.text(name);
        }
        named.boolean("strict");  // it always is
        named.required("schema");
        named.refuse_others();
        const auto ordered = nlohmann::ordered_json::parse(body);
        const std::string schema = ordered["response_format"]["json_schema"]["schema"].dump();
        order.grammar = grammar_of("response_format.json_schema.schema",
                                   [&] { return Grammar::from_json_schema(schema); });
        order.grammar_field = "response_format";
    } else if (type != "text") {
        refuse_field("response_format.type", "expected text, json_object or json_schema");
    }
    format.refuse_others();
}

/// What both kinds of request have.
GenerationOrder common_fields(Fields& fields, std::string_view body) {
    GenerationOrder order;
    order.model = fields.text("model");
    order.choices = fields.integer("n", 1, most_choices).value_or(1);
    order.sampling = sampling_of(fields);
    order.stops = stops_of(fields);
    read_stream(fields, order);
    read_grammar(fields, body, order);
    pass_over_harmless(fields);
    fields.boolean("store");
    return order;
}

std::vector<TokenId> token_ids(const json& list, const char* field, const char* expected) {
    std::vector<TokenId> ids;
    for (const json& id : list) {
        const auto* const value = id.get_ptr<const json::number_unsigned_t*>();
        if (value == nullptr || *value > std::numeric_limits<TokenId>::max()) {
            refuse_field(field, expected);
        }
        ids.push_back(static_cast<TokenId>(*value));
    }
    return ids;
}

std::vector<TokenId> prompt_ids(const json& list) {
    auto ids = token_ids(list, "prompt", "expected texts, or the token ids of some");
    if (ids.empty()) refuse_field("prompt", "is empty: expected at least one token id");
    return ids;
}

/// A text, the ids of one, or a list of either.
std::vector<Prompt> prompts_of(const json& prompt) {
    if (prompt.is_string()) return {prompt.get<std::string>()};
    if (!prompt.is_array() || prompt.empty()) {
        refuse_field("prompt", "expected a text, a list of token ids, or a list of these");
    }
    if (prompt.front().is_number()) return {prompt_ids(prompt)};
    std::vector<Prompt> prompts;
    for (const json& each : prompt) {
        if (each.is_string()) {
            prompts.emplace_back(each.get<std::string>());
        } else {
            if (!each.is_array())
                refuse_field("prompt", "expected texts, or the token ids of some");
            prompts.emplace_back(prompt_ids(each));
        }
    }
    return prompts;
}

/// A text, or a list of parts that are texts.
std::string content_of(const json& content, const std::string& where) {
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array()) refuse_field(where, "expected a text or a list of parts");
    std::string text;
    for (std::size_t i = 0; i < content.size(); ++i) {
        Fields part(content[i], where + '[' + std::to_string(i) + ']');
        if (part.text("type") != "text") {
            refuse_field(part.name("type"), "expected \"text\": this server reads texts only",
                         "unsupported_parameter");
        }
        text += part.text("text");
        part.refuse_others();
    }
    return text;
}

std::vector<ChatMessage> messages_of(const json& list) {
    if (!list.is_array() || list.empty()) refuse_field("messages", "expected at least one message");
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list.size(); ++i) {
        Fields message(list[i], "messages[" + std::to_string(i) + ']');
        ChatMessage& read = messages.emplace_back();
        read.role = role_of(message.text("role"), message.name("role"));
        read_calls(message, read);
        if (read.calls.empty() || message.find("content") != nullptr) {
            read.text = content_of(message.required("content"), message.name("content"));
        }
        message.refuse_unsupported(
            std::array{Unsupported{"name", "null"}, Unsupported{"refusal", "null"},
                       Unsupported{"audio", "null"}, Unsupported{"function_call", "null"}});
        message.refuse_others();
    }
    return messages;
}

void require_model(Fields& fields, const std::string& model) {
    if (fields.find("model") != nullptr && fields.text("model") != model) {
        refuse_field("model", "there is no such model", "model_not_found");
    }
}

}  // namespace

json parse(std::string_view body) {
    try {
        return importing::parse_json(body, "the body");
    } catch (const BadInput& error) {
        throw ApiError(400, error.what());
    }
}

SamplingOptions sampling_of(Fields& fields) {
    SamplingOptions sampling;
    sampling.temperature = fields.number("temperature", 1, 0, 2);
    sampling.seed = seed_of(fields);
    sampling.top_k = fields.integer("top_k", 0, largest_count).value_or(0);
    sampling.top_p = fields.number("top_p", 1, 1e-6, 1);
    sampling.min_p = fields.number("min_p", 0, 0, 1);
    sampling.repetition_penalty = fields.number("repetition_penalty", 1, 0.01, 100);
    sampling.presence_penalty = fields.number("presence_penalty", 0, -2, 2);
    sampling.frequency_penalty = fields.number("frequency_penalty", 0, -2, 2);
    sampling.logit_bias = logit_bias_of(fields);
    return sampling;
}

void pass_over_harmless(Fields& fields) {
    for (const char* name : {"user", "safety_identifier", "prompt_cache_key",
                             "prompt_cache_retention", "service_tier"}) {
        if (fields.find(name) != nullptr) fields.text(name);
    }
    const json* const metadata = fields.find("metadata");
    if (metadata == nullptr) return;
    Fields entries(*metadata, "metadata");
    for (const auto& [name, value] : metadata->items()) entries.text(name);
}

ChatMessage::Role role_of(const std::string& role, const std::string& where) {
    if (role == "system" || role == "developer") return ChatMessage::Role::system;
    if (role == "user") return ChatMessage::Role::user;
    if (role == "assistant") return ChatMessage::Role::assistant;
    if (role == "tool") return ChatMessage::Role::tool;
    refuse_field(where, "expected system, developer, user, assistant or tool");
}

GenerationOrder parse_completion(std::string_view body) {
    const json value = parse(body);
    Fields fields(value, "");
    GenerationOrder order = common_fields(fields, body);
    order.prompts = prompts_of(fields.required("prompt"));
    if (order.prompts.size() * order.choices > most_choices) {
        refuse_field("prompt", "expected at most 128 prompts times 'n'");
    }
    order.echo = fields.boolean("echo");
    order.max_tokens = fields.integer("max_tokens", order.echo ? 0 : 1, largest_count).value_or(16);
    fields.integer("best_of", order.choices, order.choices);  // the best of as many as are shown
    order.log_probabilities = fields.integer("logprobs", 0, most_likeliest);
    fields.refuse_unsupported(unsupported_in_completions);
    fields.refuse_others();
    return order;
}

GenerationOrder parse_chat(std::string_view body) {
    const json value = parse(body);
    Fields fields(value, "");
    GenerationOrder order = common_fields(fields, body);
    order.messages = messages_of(fields.required("messages"));
    const auto old_name = fields.integer("max_tokens", 1, largest_count);
    const auto new_name = fields.integer("max_completion_tokens", 1, largest_count);
    if (old_name && new_name && *old_name != *new_name) {
        refuse_field("max_tokens", "contradicts 'max_completion_tokens'");
    }
    order.max_tokens = new_name ? new_name : old_name;
    const bool shown = fields.boolean("logprobs");
    const auto likeliest = fields.integer("top_logprobs", 0, most_likeliest);
    if (likeliest && !shown)
        refuse_field("top_logprobs", "has no meaning without \"logprobs\": true");
    if (shown) order.log_probabilities = likeliest.value_or(0);
    read_tools(fields, body, order);
    fields.refuse_unsupported(unsupported_in_chats);
    fields.refuse_others();
    return order;
}

TokenizeOrder parse_tokenize(std::string_view body, const std::string& model) {
    const json value = parse(body);
    Fields fields(value, "");
    require_model(fields, model);
    TokenizeOrder order;
    const json* const messages = fields.find("messages");
    const bool llama_cpp = fields.find("content") != nullptr;
    if (messages != nullptr) {
        order.text = messages_of(*messages);
    } else {
        order.text = fields.text(llama_cpp ? "content" : "prompt");
        const char* const special = llama_cpp ? "add_special" : "add_special_tokens";
        // llama.cpp adds none unless asked, vLLM unless asked not to.
        order.special = fields.find(special) != nullptr ? fields.boolean(special) : !llama_cpp;
    }
    fields.refuse_others();
    return order;
}

std::vector<TokenId> parse_detokenize(std::string_view body, const std::string& model) {
    const json value = parse(body);
    Fields fields(value, "");
    require_model(fields, model);
    const json& tokens = fields.required("tokens");
    if (!tokens.is_array()) refuse_field("tokens", "expected a list of token ids");
    auto ids = token_ids(tokens, "tokens", "expected token ids");
    fields.refuse_others();
    return ids;
}

}  // namespace slip::endpoint
