// Answers of /v1/responses, in OpenAI's JSON (SERVE-18).
#pragma once

#include <cstddef>
#include <string>

#include "programs/endpoint/answers.hpp"
#include "programs/endpoint/parsing/request.hpp"

namespace slip::endpoint {

/// One answer, whole or as the events of a stream: collects its text as it comes.
class ResponseWriter {
public:
    /// `head` and `order` outlive nothing: what is needed of them is kept.
    ResponseWriter(const AnswerHead& head, const GenerationOrder& order);

    /// More of the text.
    void add(const std::string& text) { text_ += text; }
    /// The body of the answer. `finish_reason`: as of a choice.
    std::string whole(const std::string& finish_reason, const AnswerEnd& end) const;

    /// Events of a stream: those before the text, a part of the text, which is added, those behind
    /// it, and the one of an answer that cannot be completed.
    std::string first();
    std::string more(const std::string& text);
    std::string last(const std::string& finish_reason, const AnswerEnd& end);
    std::string failed(const ApiError& error);

private:
    std::string text_;
    std::string base_;        // the fields of the answer that are the same throughout, JSON
    std::string message_id_;  // of the only item of its output
    std::size_t number_ = 0;  // of the next event
};

}  // namespace slip::endpoint
