// Guesses (MODEL-21) tell David whether an answer quotes its prompt: only a text that repeats
// itself is guessed from, and the guesses are columns of one message. Nobody is told without being
// asked: guesses are off unless a generation asks for them.
#include <algorithm>

#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/victim.hpp"
#include "optimized/graph/generate.hpp"

namespace slip::attacks {
namespace {

constexpr std::size_t prompt_tokens = 40;
constexpr std::size_t answer_tokens = 16;

/// A session's engine, whose logits are those of an answer that is given: what the model would say
/// does not matter here.
class GivenAnswer : public base::Engine {
public:
    GivenAnswer(const Victim& victim, base::Engine& inner, std::vector<TokenId> answer)
        : inner_(inner),
          head_(static_cast<base::GroupId>(victim.charlie().groups().size() - 1)),
          answer_(std::move(answer)) {}

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        inner_.apply(group, input, outputs);
        if (group != head_) return;
        for (std::size_t r = 0; r < input.rows(); ++r) {
            const auto row = outputs[0].row(r);
            std::fill(row.begin(), row.end(), 0.0F);
            if (taken + r < answer_.size()) row[static_cast<std::size_t>(answer_[taken + r])] = 1;
        }
    }
    std::size_t taken = 0;  // tokens of the answer

private:
    base::Engine& inner_;
    base::GroupId head_;
    std::vector<TokenId> answer_;
};

/// After the prompt's message, one of several columns for the first group is a text that repeats
/// itself.
bool says_quotes(const View& view) {
    std::size_t seen = 0;
    return std::any_of(view.begin(), view.end(), [&](const Message& message) {
        return message.group == 0 && ++seen > 1 && message.columns > 1;
    });
}

Outcome tell_quotes(const Victim& victim, const Setting& setting, std::size_t guesses) {
    std::mt19937_64 random(setting.seed);
    const std::uint64_t sessions = setting.full ? 200 : 6;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < sessions; ++i) {
        const bool quotes = i % 2 == 0;
        const auto prompt = random_prompt(victim.config(), prompt_tokens, random);
        const std::size_t first = random() % (prompt_tokens - answer_tokens);
        const auto from = prompt.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<TokenId> answer(from, from + answer_tokens);
        if (!quotes) answer = random_prompt(victim.config(), answer_tokens, random);
        ProductSession session(victim);
        GivenAnswer engine(victim, session.engine(), answer);
        SamplingOptions options;
        options.max_tokens = answer_tokens;
        options.guesses = guesses;
        const auto count = [&](TokenId, std::span<const float>) { return ++engine.taken > 0; };
        graph::generate(victim.graph(), engine, prompt, options, count);
        wrong += says_quotes(session.view()) != quotes;
    }
    return {static_cast<double>(wrong) / static_cast<double>(sessions), 0.1, sessions,
            "answers of 16 tokens, half of which stand in their prompts of 40"};
}

}  // namespace

/// The generation asks for three guesses.
Outcome quotes_twin(const Setting& setting) { return tell_quotes(victim_of(setting), setting, 3); }
Outcome quotes_product(const Setting& setting) {
    return tell_quotes(victim_of(setting), setting, SamplingOptions{}.guesses);
}
Outcome quotes_hidden(const Setting& setting) {
    return tell_quotes(hidden_victim_of(setting), setting, SamplingOptions{}.guesses);
}

}  // namespace slip::attacks
