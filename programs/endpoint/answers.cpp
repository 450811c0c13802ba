#include "programs/endpoint/answers.hpp"

#include <nlohmann/json.hpp>

#include "optimized/import/utf8.hpp"
#include "slip/version.h"

namespace slip::endpoint {
namespace {

using Json = nlohmann::ordered_json;

/// Texts are whole characters already; what a user's field holds is not, perhaps.
std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string event(const Json& json) { return "data: " + dump(json) + "\n\n"; }

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json frame(const AnswerHead& head, bool chunk) {
    const char* object =
        head.chat ? (chunk ? "chat.completion.chunk" : "chat.completion") : "text_completion";
    return {{"id", head.id},
            {"object", object},
            {"created", head.created},
            {"model", head.model},
            {"choices", Json::array()}};
}

Json usage_of(const Receipt& receipt) {
    return {{"prompt_tokens", receipt.prompt_tokens},
            {"completion_tokens", receipt.generated_tokens},
            {"total_tokens", receipt.prompt_tokens + receipt.generated_tokens},
            {"prompt_tokens_details", {{"cached_tokens", receipt.cached_tokens}}}};
}

/// SERVE-7.
Json slip_of(const ReceiptFacts& facts, const Receipt& receipt) {
    const bool multiplied = receipt.charlie_multiplications + receipt.david_multiplications > 0;
    return {{"engine", facts.engine},
            {"artifact", or_null(facts.digest)},
            {"set", or_null(facts.set)},
            {"rounds", receipt.rounds},
            {"checks", receipt.checks},
            {"bytes_up", receipt.bytes_up},
            {"bytes_down", receipt.bytes_down},
            {"epsilon", multiplied ? Json(receipt.charlie_share()) : Json()},
            {"kernels", facts.kernels},
            {"repeated_steps", receipt.repeated_steps}};
}

Json bytes_of(const Token& token) {
    if (token.special) return nullptr;
    Json bytes = Json::array();
    for (const char byte : token.text) bytes.push_back(static_cast<unsigned char>(byte));
    return bytes;
}

/// A part of a character as OpenAI writes it, "bytes:" before it in completions.
std::string shown(const Token& token, bool chat) {
    if (importing::utf8_prefix(token.text) == token.text.size()) return token.text;
    std::string text = chat ? "" : "bytes:";
    for (const char byte : token.text) {
        const auto value = static_cast<unsigned char>(byte);
        text.append("\\x").append(1, "0123456789abcdef"[value >> 4]);
        text.append(1, "0123456789abcdef"[value & 15U]);
    }
    return text;
}

Json log_probability_of(const TokenChoice::Alternative& choice) {
    return choice.log_probability ? Json(*choice.log_probability) : Json();
}

Json described(const TokenChoice::Alternative& choice) {
    return {{"token", shown(choice.token, true)},
            {"logprob", log_probability_of(choice)},
            {"bytes", bytes_of(choice.token)}};
}

Json chat_choices(const std::vector<TokenChoice>& choices) {
    Json content = Json::array();
    for (const TokenChoice& choice : choices) {
        Json entry = described(choice.chosen);
        entry["top_logprobs"] = Json::array();
        for (const auto& other : choice.likeliest) {
            entry["top_logprobs"].push_back(described(other));
        }
        content.push_back(entry);
    }
    return {{"content", content}, {"refusal", nullptr}};
}

Json completion_choices(const std::vector<TokenChoice>& choices) {
    Json json = {{"tokens", Json::array()},
                 {"token_logprobs", Json::array()},
                 {"top_logprobs", Json::array()},
                 {"text_offset", Json::array()}};
    for (const TokenChoice& choice : choices) {
        json["tokens"].push_back(shown(choice.chosen.token, false));
        json["token_logprobs"].push_back(log_probability_of(choice.chosen));
        json["text_offset"].push_back(choice.offset);
        Json others = Json::object();  // of tokens that are shown alike, the likeliest
        for (const auto& other : choice.likeliest) {
            others.emplace(shown(other.token, false), log_probability_of(other));
        }
        json["top_logprobs"].push_back(choice.chosen.log_probability ? others : Json());
    }
    return json;
}

Json log_probabilities(bool chat, const std::optional<std::vector<TokenChoice>>& choices) {
    if (!choices) return nullptr;
    return chat ? chat_choices(*choices) : completion_choices(*choices);
}

/// `text`: with "text", "message" or "delta" as its kind has it.
Json choice_of(std::size_t index, const char* name, const Json& text, const Json& log_probs,
               const Json& reason) {
    return {{"index", index}, {name, text}, {"logprobs", log_probs}, {"finish_reason", reason}};
}

Json chunk_of(const AnswerHead& head, const Json& choice, bool usage_follows) {
    Json json = frame(head, true);
    json["choices"].push_back(choice);
    if (usage_follows) json["usage"] = nullptr;
    return json;
}

/// SERVE-17.
Json call_of(const ToolCall& call) {
    return {{"id", call.id},
            {"type", "function"},
            {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json message_of(const AnswerPart& part) {
    Json message = {{"role", "assistant"}, {"content", part.text}, {"refusal", nullptr}};
    if (part.calls.empty()) return message;
    if (part.text.empty()) message["content"] = nullptr;
    Json& calls = message["tool_calls"] = Json::array();
    for (const CallPart& each : part.calls) calls.push_back(call_of(each.call));
    return message;
}

/// The first part of a call has its id and name.
Json delta_of(const CallPart& part) {
    Json entry = part.call.id.empty() ? Json{{"function", {{"arguments", part.call.arguments}}}}
                                      : call_of(part.call);
    Json call = {{"index", part.index}};
    call.update(entry);
    return {{"tool_calls", Json::array({call})}};
}

const char* text_name(const AnswerHead& head) { return head.chat ? "delta" : "text"; }

}  // namespace

std::string whole_answer(const AnswerHead& head, std::span<const WholeChoice> choices,
                         const AnswerEnd& end) {
    Json json = frame(head, false);
    for (const auto& [part, finish_reason] : choices) {
        json["choices"].push_back(choice_of(part.index, head.chat ? "message" : "text",
                                            head.chat ? message_of(part) : Json(part.text),
                                            log_probabilities(head.chat, part.choices),
                                            finish_reason));
    }
    json["usage"] = usage_of(end.receipt);
    if (end.facts) json["slip"] = slip_of(*end.facts, end.receipt);
    return dump(json);
}

std::string first_event(const AnswerHead& head, std::size_t index, bool usage_follows) {
    if (!head.chat) return {};
    const Json delta = {{"role", "assistant"}, {"content", head.calls ? Json() : Json("")}};
    return event(chunk_of(head, choice_of(index, "delta", delta, nullptr, nullptr), usage_follows));
}

std::string text_event(const AnswerHead& head, const AnswerPart& part, bool usage_follows) {
    const auto chunk = [&](const Json& text, const Json& log_probs) {
        return event(chunk_of(
            head, choice_of(part.index, text_name(head), text, log_probs, nullptr), usage_follows));
    };
    const Json text = head.chat ? Json{{"content", part.text}} : Json(part.text);
    std::string events;
    if (!part.text.empty() || part.calls.empty()) {
        events = chunk(text, log_probabilities(head.chat, part.choices));
    }
    for (const CallPart& call : part.calls) events += chunk(delta_of(call), nullptr);
    return events;
}

std::string last_event(const AnswerHead& head, std::size_t index, const std::string& finish_reason,
                       const AnswerEnd* end, bool usage_follows) {
    const Json nothing = head.chat ? Json::object() : Json("");
    Json last = chunk_of(head, choice_of(index, text_name(head), nothing, nullptr, finish_reason),
                         usage_follows);
    if (end == nullptr) return event(last);
    std::string events;
    if (usage_follows) {
        events = event(last);
        last = frame(head, true);
        last["usage"] = usage_of(end->receipt);
    }
    if (end->facts) last["slip"] = slip_of(*end->facts, end->receipt);
    return events + event(last) + "data: [DONE]\n\n";
}

std::string receipt_body(const ReceiptFacts& facts, const Receipt& receipt) {
    return dump(slip_of(facts, receipt));
}

std::string error_body(const ApiError& error) {
    return dump({{"error",
                  {{"message", error.message},
                   {"type", error.type},
                   {"param", or_null(error.param)},
                   {"code", or_null(error.code)}}}});
}

std::string error_event(const ApiError& error) { return "data: " + error_body(error) + "\n\n"; }

std::string model_list(const ModelFacts& model, bool alone) {
    const Json entry = {{"id", model.name},
                        {"object", "model"},
                        {"created", model.created},
                        {"owned_by", "slip"},
                        {"max_model_len", model.positions ? Json(*model.positions) : Json()}};
    if (alone) return dump(entry);
    return dump({{"object", "list"}, {"data", Json::array({entry})}});
}

std::string tokens_body(std::span<const TokenId> tokens, std::size_t positions) {
    return dump({{"count", tokens.size()},
                 {"max_model_len", positions},
                 {"tokens", Json(std::vector<TokenId>(tokens.begin(), tokens.end()))}});
}

/// The same under both names: vLLM's and llama.cpp's.
std::string text_body(const std::string& text) {
    return dump({{"prompt", text}, {"content", text}});
}

std::string version_body() { return dump({{"version", SLIP_VERSION}}); }

}  // namespace slip::endpoint
