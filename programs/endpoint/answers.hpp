// What clients get, in OpenAI's JSON (SERVE-5, SERVE-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "programs/endpoint/parsing/request.hpp"
#include "slip/scheduler.hpp"
#include "slip/tools.hpp"

namespace slip::endpoint {

/// What all parts of one answer have in common.
struct AnswerHead {
    bool chat = false;
    bool calls = false;        ///< it may call functions
    std::string id;            ///< "cmpl-" or "chatcmpl-" and random digits
    std::int64_t created = 0;  ///< seconds since 1970
    std::string model;
};

/// SERVE-7: what is the same in every receipt.
struct ReceiptFacts {
    std::string engine;   ///< "hybrid", "unsplit" or "float"
    std::string digest;   ///< SHA-256 of David's weight file, in hex; empty: there is none
    std::string set;      ///< "paper"; empty without an artifact
    std::string kernels;  ///< of Charlie's products
};

/// What OpenAI's interface shows in the place of a log-probability that is not told (SERVE-10).
inline constexpr double unlikely_log_probability = -9999.0;

/// One token that was chosen or stands in a prompt, and what else could have been.
struct TokenChoice {
    struct Alternative {
        Token token;
        std::optional<double> log_probability;  ///< none: of the first token of a prompt
    };
    Alternative chosen;
    std::vector<Alternative> likeliest;
    std::size_t offset = 0;  ///< whole characters that stand before it, of the prompt too
};

/// A call, or more of the arguments of one (SERVE-17).
struct CallPart {
    std::size_t index = 0;  ///< of the call in its choice
    ToolCall call;          ///< the first part has id and name, the others arguments alone
};

/// A part of the text of one choice.
struct AnswerPart {
    std::size_t index = 0;  ///< of the choice
    std::string text;
    std::optional<std::vector<TokenChoice>> choices;  ///< of its tokens; none: not shown
    std::vector<CallPart> calls = {};                 ///< behind the text
};

/// How a whole answer ended.
struct AnswerEnd {
    Receipt receipt;                    ///< of the usage too, of all choices together
    std::optional<ReceiptFacts> facts;  ///< none: without "slip"
};

/// A choice as a whole.
struct WholeChoice {
    AnswerPart part;
    std::string finish_reason;  ///< "stop", "length" or "tool_calls"
};

/// The body of an answer that is not streamed. The choices are in the order of their index.
std::string whole_answer(const AnswerHead& head, std::span<const WholeChoice> choices,
                         const AnswerEnd& end);

/// Events of a stream, "data: " and the empty line included. The first of a choice:
std::string first_event(const AnswerHead& head, std::size_t index, bool usage_follows);
/// Its text, if it has some, and its calls.
std::string text_event(const AnswerHead& head, const AnswerPart& part, bool usage_follows);
/// The chunk with a choice's finish reason. With `end` it is the last one: then come the usage, if
/// it was asked for, and [DONE].
std::string last_event(const AnswerHead& head, std::size_t index, const std::string& finish_reason,
                       const AnswerEnd* end, bool usage_follows);
/// An answer that has begun cannot be completed.
std::string error_event(const ApiError& error);

/// SERVE-7: "slip" of an answer.
std::string receipt_body(const ReceiptFacts& facts, const Receipt& receipt);
/// {"error": {...}}.
std::string error_body(const ApiError& error);
/// What is told of the model that is served.
struct ModelFacts {
    std::string name;
    std::int64_t created = 0;              ///< seconds since 1970
    std::optional<std::size_t> positions;  ///< its context; none while it is being loaded
};

/// The body of /v1/models, or of /v1/models/ID if `alone`.
std::string model_list(const ModelFacts& model, bool alone);
/// The body of /tokenize.
std::string tokens_body(std::span<const TokenId> tokens, std::size_t positions);
/// The body of /detokenize.
std::string text_body(const std::string& text);
/// The body of /version.
std::string version_body();

}  // namespace slip::endpoint
