#include "programs/endpoint/choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "optimized/graph/sampler.hpp"
#include "optimized/import/utf8.hpp"
#include "programs/endpoint/random_id.hpp"

namespace slip::endpoint {
namespace {

/// Characters of a text in UTF-8.
std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
}

/// Whether fewer than `count` tokens come before this one, by log-probability and id.
bool is_among_likeliest(std::span<const double> values, TokenId id, std::size_t count) {
    const auto own = static_cast<std::size_t>(id);
    std::size_t before = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] > values[own] || (values[i] == values[own] && i < own)) ++before;
    }
    return before < count;
}

std::vector<TokenId> likeliest_of(std::span<const double> values, std::size_t count) {
    std::vector<TokenId> ids(values.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, ids.size()));
    std::partial_sort(ids.begin(), end, ids.end(), [&](TokenId a, TokenId b) {
        const double of_a = values[static_cast<std::size_t>(a)];
        const double of_b = values[static_cast<std::size_t>(b)];
        return of_a > of_b || (of_a == of_b && a < b);
    });
    ids.erase(end, ids.end());
    return ids;
}

/// The id of a call, as OpenAI has it or of the length that the model's template wants.
std::string call_id(std::size_t length) {
    return length == 0 ? random_id("call_") : random_id("").substr(0, length);
}

}  // namespace

Token TokenPlaces::token(TokenId id) const {
    Token token = model_->token(id);
    const bool first = !has_text_ && !token.special && token.text.starts_with(' ');
    if (first && !model_->decode(std::span(&id, 1)).starts_with(' ')) token.text.erase(0, 1);
    return token;
}

std::size_t TokenPlaces::take(TokenId id) {
    const std::size_t before = complete_;
    const Token next = token(id);
    if (next.special) return before;
    has_text_ = true;
    cut_ += next.text;
    const std::size_t whole = importing::utf8_without_cut(cut_);
    complete_ += characters(importing::utf8_repaired(std::string_view(cut_).substr(0, whole)));
    cut_.erase(0, whole);
    return before;
}

Choice::Choice(const LanguageModel& model, std::size_t index, std::span<const TokenId> prompt,
               std::vector<std::string> stops, const Shown& shown)
    : model_(model),
      index_(index),
      shown_(shown),
      text_(model, prompt, std::move(stops)),
      places_(model) {
    if (shown_.calls) calls_.emplace(*shown_.calls);
    if (shown_.echo && shown_.likeliest) {
        echo_.emplace(model, std::span<const TokenId>());
        const TokenId first = prompt.front();
        choices_.push_back({{places_.token(first), std::nullopt}, {}, places_.take(first)});
        unsent_ = echo_->push(first);
        return;
    }
    if (shown_.echo) unsent_ = model.decode(prompt);
    if (!shown_.likeliest) return;
    for (const TokenId id : prompt) places_.take(id);
}

std::optional<AnswerPart> Choice::on_prompt(TokenId id, std::span<const float> logits) {
    describe(id, logits);
    return shown_with(echo_->push(id));
}

std::optional<AnswerPart> Choice::on_token(TokenId id, std::span<const float> logits) {
    if (shown_.likeliest) describe(id, logits);
    if (!calls_) return shown_with(text_.push(id));
    calls_->on_token(id);
    return shown_with(calls_->push(text_.push(id)));
}

std::optional<AnswerPart> Choice::finish() {
    if (calls_) {
        auto parts = calls_->push(text_.finish());
        const auto rest = calls_->finish();
        parts.insert(parts.end(), rest.begin(), rest.end());
        return shown_with(std::move(parts));
    }
    auto last = shown_with(text_.finish());
    if (!last && !choices_.empty()) last.emplace(AnswerPart{index_, "", std::move(choices_)});
    return last;
}

/// A chosen token's log-probability is shown whatever its rank if unlikely ones are (SERVE-10).
void Choice::describe(TokenId id, std::span<const float> logits) {
    const std::vector<double> values = graph::log_probabilities(logits);
    const auto entry = [&](TokenId token) {
        return TokenChoice::Alternative{places_.token(token),
                                        values[static_cast<std::size_t>(token)]};
    };
    TokenChoice choice{entry(id), {}, 0};
    if (!shown_.unlikely && !is_among_likeliest(values, id, most_likeliest)) {
        choice.chosen.log_probability = unlikely_log_probability;
    }
    for (const TokenId other : likeliest_of(values, *shown_.likeliest)) {
        choice.likeliest.push_back(entry(other));
    }
    choice.offset = places_.take(id);
    choices_.push_back(std::move(choice));
}

/// SERVE-17. Text comes before calls.
std::optional<AnswerPart> Choice::shown_with(std::vector<CallReader::Part> parts) {
    using Kind = CallReader::Part::Kind;
    if (parts.empty()) return std::nullopt;
    AnswerPart shown{index_, "", std::nullopt};
    for (CallReader::Part& part : parts) {
        if (part.kind == Kind::text) {
            shown.text += part.text;
        } else if (part.kind == Kind::call) {
            shown.calls.push_back(
                {call_count_++, {call_id(shown_.calls->id_length), std::move(part.text), ""}});
        } else {
            shown.calls.push_back({call_count_ - 1, {"", "", std::move(part.text)}});
        }
    }
    return shown;
}

std::optional<AnswerPart> Choice::shown_with(std::string text) {
    text.insert(0, std::exchange(unsent_, {}));
    if (text.empty()) return std::nullopt;
    AnswerPart part{index_, std::move(text), std::nullopt};
    if (shown_.likeliest) part.choices = std::exchange(choices_, {});
    return part;
}

}  // namespace slip::endpoint
