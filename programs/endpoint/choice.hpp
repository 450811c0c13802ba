// The text of one generation, with what is shown of its tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "programs/endpoint/answers.hpp"
#include "slip/text_stream.hpp"
#include "slip/tools.hpp"

namespace slip::endpoint {

/// Where tokens stand in a text: counts its whole characters.
class TokenPlaces {
public:
    explicit TokenPlaces(const LanguageModel& model) : model_(&model) {}

    /// The token as it is in the next place: SentencePiece removes a space at the beginning.
    Token token(TokenId id) const;
    /// Takes the next token, and returns the characters that are complete before it.
    std::size_t take(TokenId id);

private:
    const LanguageModel* model_;
    std::string cut_;  // the bytes of a character that is not complete
    std::size_t complete_ = 0;
    bool has_text_ = false;
};

/// SERVE-5: turns the tokens of one generation into parts of an answer.
class Choice {
public:
    /// What is shown.
    struct Shown {
        bool echo = false;                     ///< the prompt
        std::optional<std::size_t> likeliest;  ///< in each place; none: no log-probabilities
        bool unlikely = false;                 ///< those of unlikely tokens too (SERVE-10)
        std::optional<CallSyntax> calls = {};  ///< how the answer calls functions, if it may
    };

    Choice(const LanguageModel& model, std::size_t index, std::span<const TokenId> prompt,
           std::vector<std::string> stops, const Shown& shown);

    /// What can be shown of the answer now; nothing while that is no text. As LanguageModel's
    /// OnToken:
    std::optional<AnswerPart> on_token(TokenId id, std::span<const float> logits);
    /// With echo and log-probabilities, for each token of the prompt but the first.
    std::optional<AnswerPart> on_prompt(TokenId id, std::span<const float> logits);
    /// The rest, perhaps without text.
    std::optional<AnswerPart> finish();
    /// Whether a stop text has come.
    bool stopped() const { return text_.stopped(); }
    /// Whether the text has called functions, and the last call is complete (SERVE-17).
    bool has_called() const { return calls_ && calls_->complete(); }

private:
    void describe(TokenId id, std::span<const float> logits);
    std::optional<AnswerPart> shown_with(std::string text);
    std::optional<AnswerPart> shown_with(std::vector<CallReader::Part> parts);

    const LanguageModel& model_;
    const std::size_t index_;
    const Shown shown_;
    TextStream text_;
    std::optional<TextStream> echo_;
    std::optional<CallReader> calls_;
    std::size_t call_count_ = 0;
    TokenPlaces places_;
    std::string unsent_;                // of the prompt
    std::vector<TokenChoice> choices_;  // that were not shown yet
};

}  // namespace slip::endpoint
