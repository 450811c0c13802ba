#include "experiments/bench/guessing.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "optimized/graph/generate.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t guesses = 7;
constexpr std::size_t most_of_prompt = 48;
constexpr std::size_t most_tokens = 64;  // so that one block of masks is enough
constexpr std::size_t quoted_at_once = 24;
constexpr std::size_t between_quotes = 2;

struct Text {
    std::vector<TokenId> prompt;
    std::vector<TokenId> answer;
};

/// Tokens that all differ, as far as the vocabulary goes, and end no text.
class FreshTokens {
public:
    explicit FreshTokens(const base::ModelConfig& config) : config_(config) {}
    TokenId next() {
        const auto id = static_cast<TokenId>((3 + 7 * count_++) % config_.vocab_size);
        return config_.ends_text(id) ? next() : id;
    }
    std::vector<TokenId> next(std::size_t count) {
        std::vector<TokenId> ids(count);
        for (TokenId& id : ids) id = next();
        return ids;
    }

private:
    const base::ModelConfig& config_;
    std::size_t count_ = 0;
};

Text quoting(const base::ModelConfig& config, std::size_t prompt, std::size_t tokens) {
    FreshTokens fresh(config);
    Text text{fresh.next(prompt), {}};
    const std::size_t quoted = std::min(quoted_at_once, prompt);
    for (std::size_t quotes = 0; text.answer.size() < tokens; ++quotes) {
        for (std::size_t i = 0; i < between_quotes; ++i) text.answer.push_back(fresh.next());
        const std::size_t first = 7 * quotes % (prompt - quoted + 1);
        for (std::size_t i = 0; i < quoted; ++i) text.answer.push_back(text.prompt[first + i]);
    }
    text.answer.resize(tokens);
    return text;
}

Text free_text(const base::ModelConfig& config, std::size_t prompt, std::size_t tokens) {
    constexpr std::size_t misleading = 4;
    FreshTokens fresh(config);
    Text text{fresh.next(prompt), {}};
    while (text.answer.size() < tokens) {
        const bool repeats = text.answer.size() % most_tokens == most_tokens / 2;
        for (std::size_t i = 0; repeats && i < std::min(misleading, prompt); ++i) {
            text.answer.push_back(text.prompt[i]);
        }
        text.answer.push_back(fresh.next());
    }
    text.answer.resize(tokens);
    return text;
}

/// Another engine, whose last group gives the logits of a given text.
class GivenText : public base::Engine {
public:
    GivenText(base::Engine& inner, base::GroupId head, const std::vector<TokenId>& answer)
        : inner_(inner), head_(head), answer_(answer) {}

    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        inner_.apply(group, input, outputs);
        if (group != head_) return;
        ++rounds;
        columns += input.rows();
        for (std::size_t r = 0; r < input.rows(); ++r) {
            const auto row = outputs[0].row(r);
            std::fill(row.begin(), row.end(), 0.0F);
            if (taken + r < answer_.size()) row[static_cast<std::size_t>(answer_[taken + r])] = 1;
        }
    }

    std::size_t taken = 0;  // tokens of the answer
    std::size_t rounds = 0;
    std::size_t columns = 0;

private:
    base::Engine& inner_;
    base::GroupId head_;
    const std::vector<TokenId>& answer_;
};

/// Costs of the tokens after the first one, which comes with the prompt.
struct Run {
    double seconds = 0;
    double rounds_per_token = 0;
    double columns_per_token = 0;
};

Run generate_text(const graph::Transformer& graph, base::Engine& engine, const Text& text,
                  std::size_t count) {
    const auto head = static_cast<base::GroupId>(graph::groups_of(graph.config()).size() - 1);
    GivenText given(engine, head, text.answer);
    SamplingOptions options;
    options.max_tokens = text.answer.size();
    options.guesses = count;
    Clock::time_point first;
    const auto see = [&](TokenId, std::span<const float>) {
        if (given.taken++ == 0) first = Clock::now();
        return true;
    };
    const auto ids = graph::generate(graph, given, text.prompt, options, see);
    const std::chrono::duration<double> seconds = Clock::now() - first;
    base::require(ids == text.answer, "slip-bench: another text than the given one");
    const auto tokens = static_cast<double>(ids.size() - 1);
    return {seconds.count(), static_cast<double>(given.rounds - 1) / tokens,
            static_cast<double>(given.columns - 1) / tokens};
}

/// With guesses and without, in turn.
struct TextTimes {
    std::string name;
    Text text;
    std::vector<double> plain = {};
    std::vector<double> guessed = {};
    Run last = {};
};

void report_times(const TextTimes& times, Report& report) {
    const auto tokens = static_cast<double>(times.text.answer.size() - 1);
    const auto add_row = [&](const std::string& how, const std::vector<double>& seconds) {
        const double token = median(seconds) / tokens;
        report.add_row(times.name + " text, " + how, token, 1, "tokens/s");
    };
    add_row("no guesses", times.plain);
    add_row(std::to_string(guesses) + " guesses", times.guessed);
    report.add_figure("guesses_" + times.name, median_ratio(times.plain, times.guessed));
    report.add_figure("rounds_per_token_" + times.name, times.last.rounds_per_token);
    report.add_figure("columns_per_token_" + times.name, times.last.columns_per_token);
}

}  // namespace

Report measure_guessing(WholeModel& whole) {
    const base::ModelConfig& config = whole.transformer->config();
    const std::size_t positions = config.max_position_embeddings;
    const std::size_t prompt = std::min(most_of_prompt, positions / 2);
    const std::size_t tokens =
        std::clamp<std::size_t>(whole.options.tokens, 2, std::min(most_tokens, positions - prompt));
    const std::unique_ptr<Transport> link = whole.server->connect();
    // More columns than a run has, and one: a group whose masks are used up makes the next ones.
    const std::size_t masks = prompt + 2 * tokens + 1;
    engines::HybridEngine engine = protected_by(whole, *link, masks);
    std::vector<TextTimes> texts{{"quoting", quoting(config, prompt, tokens)},
                                 {"free", free_text(config, prompt, tokens)}};
    const auto run = [&](const TextTimes& times, std::size_t count) {
        engine.wait_until_ready(masks);
        return generate_text(*whole.transformer, engine, times.text, count);
    };
    for (std::size_t i = 0; i < whole.options.repetitions; ++i) {
        for (TextTimes& times : texts) {
            times.plain.push_back(run(times, 0).seconds);
            times.last = run(times, guesses);
            times.guessed.push_back(times.last.seconds);
        }
    }
    Report report;
    for (const TextTimes& times : texts) report_times(times, report);
    return report;
}

}  // namespace slip::bench
