// What clients ask for, in OpenAI's JSON (SERVE-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "slip/chat.hpp"
#include "slip/grammar.hpp"
#include "slip/sampling.hpp"
#include "slip/tools.hpp"

namespace slip::endpoint {

/// What a client did wrong, or why he gets no answer.
struct ApiError : std::exception {
    unsigned status = 400;
    std::string message;
    std::string type = "invalid_request_error";
    std::string param = {};  ///< the field; empty: null
    std::string code = {};   ///< empty: null

    ApiError(unsigned http_status, std::string text)
        : status(http_status), message(std::move(text)) {}
    const char* what() const noexcept override { return message.c_str(); }
};

/// The most tokens of one place whose log-probabilities are shown.
inline constexpr std::size_t most_likeliest = 20;

/// The most generations of a request: choices, over all its prompts.
inline constexpr std::size_t most_choices = 128;

/// What a conversation's answer may call (SERVE-17).
struct CallOrder {
    std::vector<Tool> tools;  ///< at least one; names differ
    Calling calling = Calling::free;
    std::string only;     ///< the function that is called; empty: any of them
    bool strict = false;  ///< arguments of some have to fit
    bool several = true;  ///< an answer may have more than one call
};

/// What an answer of /v1/responses repeats of its request (SERVE-18).
struct ResponseOrder {
    std::string instructions;
    std::string format = R"({"type":"text"})";  ///< JSON, as it was written
};

/// A text or token ids.
using Prompt = std::variant<std::string, std::vector<TokenId>>;

/// SERVE-5: a request that is understood in every field.
struct GenerationOrder {
    std::string model;
    /// The prompts of /v1/completions; at least one.
    std::vector<Prompt> prompts;
    /// The messages of /v1/chat/completions; at least one.
    std::vector<ChatMessage> messages;
    std::optional<CallOrder> calls;         ///< of a conversation; none: no function is offered
    std::optional<ResponseOrder> response;  ///< of /v1/responses
    std::size_t choices = 1;                ///< of each prompt
    bool echo = false;                      ///< the prompt stands before its continuation
    /// None: as many as the model's context has room for. It stands in the place of what `sampling`
    /// has.
    std::optional<std::size_t> max_tokens;
    SamplingOptions sampling;
    /// What the answer may be; none: any text.
    std::optional<Grammar> grammar;
    /// The field that asked for texts of the client's choosing; null: none did.
    const char* grammar_field = nullptr;
    std::vector<std::string> stops;
    bool stream = false;
    bool include_usage = false;
    /// How many of the likeliest tokens are shown in each place; none: no log-probabilities.
    std::optional<std::size_t> log_probabilities;
};

/// The body of a request to /v1/completions. Throws ApiError (400), naming the field.
GenerationOrder parse_completion(std::string_view body);
/// The body of a request to /v1/chat/completions. As above.
GenerationOrder parse_chat(std::string_view body);

/// What /tokenize is asked for (SERVE-11).
struct TokenizeOrder {
    std::variant<std::string, std::vector<ChatMessage>> text;  ///< or a conversation
    bool special = true;  ///< as a prompt of a generation: after BOS where the family has one
};

/// The body of a request to /tokenize: the fields of vLLM's, or those of llama.cpp's. Throws
/// ApiError (400), naming the field; `model` is the only model that may be named.
TokenizeOrder parse_tokenize(std::string_view body, const std::string& model);
/// The body of a request to /detokenize: the ids. As above.
std::vector<TokenId> parse_detokenize(std::string_view body, const std::string& model);

}  // namespace slip::endpoint
