#include "experiments/bench/serving/contestant.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <span>
#include <thread>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"

namespace slip::bench {
namespace {

constexpr std::size_t most_decoded = 16;
constexpr std::size_t longest_prompt = 512;
/// Beyond what is spent: a group whose masks are used up is refilled beside the last token.
constexpr std::size_t spare_masks = 8;

/// An engine that somebody else owns. A step of it that fails is not tried again.
class Borrowed : public api::Runtime {
public:
    explicit Borrowed(base::Engine& engine) : engine_(engine) {}
    base::Engine& engine() override { return engine_; }
    bool has_session() const override { return true; }

private:
    base::Engine& engine_;
};

/// The model with no token that ends a text, so that all generations are equally long.
class Endless : public api::SplitFiles {
public:
    explicit Endless(const std::filesystem::path& artifact)
        : SplitFiles(artifact), config_(SplitFiles::config()) {
        config_.eos_token_id.reset();
        config_.further_eos_token_ids.clear();
    }
    const base::ModelConfig& config() const override { return config_; }

private:
    base::ModelConfig config_;
};

/// Ids as text, for a model without a tokenizer: every token is a word.
class Numbers : public importing::Tokenizer {
public:
    explicit Numbers(std::size_t vocabulary) : vocabulary_(vocabulary) {}
    std::vector<TokenId> encode(std::string_view /*text*/) const override {
        throw BadInput("slip-bench reads no text");
    }
    std::optional<importing::Marker> marker(std::string_view /*text*/) const override { return {}; }
    std::string decode(std::span<const TokenId> ids) const override {
        std::string text;
        for (const TokenId id : ids) text += ' ' + std::to_string(id);
        return text;
    }
    importing::TokenText token(TokenId id) const override {
        return {' ' + std::to_string(id), false};
    }
    std::size_t vocab_size() const override { return vocabulary_; }

private:
    const std::size_t vocabulary_;
};

LanguageModel model_with(const WholeModel& whole, base::Engine& engine) {
    LanguageModel model =
        Access::language_model(std::make_unique<Endless>(whole.options.artifact),
                               [&] { return std::make_unique<Borrowed>(engine); });
    Access::of(model).tokenizer = std::make_unique<Numbers>(whole.transformer->config().vocab_size);
    return model;
}

}  // namespace

ServeLengths::ServeLengths(const WholeModel& whole) {
    const std::size_t positions = whole.transformer->config().max_position_embeddings;
    tokens = std::min({whole.options.tokens, most_decoded, positions / 2});
    prompt = std::min(longest_prompt, positions / 2);
}

std::size_t ServeLengths::masks() const {
    return std::max(together * tokens, prompt) + spare_masks;
}

std::vector<TokenId> prompt_of(const WholeModel& whole, std::size_t tokens) {
    static std::atomic<std::size_t> next = 0;
    const std::size_t vocabulary = whole.transformer->config().vocab_size;
    std::vector<TokenId> ids;
    for (std::size_t own = next++; ids.size() < tokens;) {
        ids.push_back(static_cast<TokenId>((3 + 11 * own + 7 * ids.size()) % vocabulary));
    }
    return ids;
}

void TokenMeter::token(std::size_t generation) {
    const std::lock_guard lock(mutex_);
    came_[generation].push_back(Clock::now());
}

double TokenMeter::seconds_per_token(std::size_t expected) const {
    const std::lock_guard lock(mutex_);
    Clock::time_point all_begun = Clock::time_point::min();
    Clock::time_point one_ended = Clock::time_point::max();
    for (const auto& times : came_) {
        base::require(times.size() == expected && expected >= 2, "a generation ended too early");
        all_begun = std::max(all_begun, times.front());
        one_ended = std::min(one_ended, times.back());
    }
    const auto per_second = [&](Clock::time_point from, Clock::time_point to) {
        double rate = 0;
        for (const auto& times : came_) {
            const auto first = std::lower_bound(times.begin(), times.end(), from);
            const auto last = std::prev(std::upper_bound(first, times.end(), to));
            if (first >= last) return 0.0;
            rate += static_cast<double>(last - first) /
                    std::chrono::duration<double>(*last - *first).count();
        }
        return rate;
    };
    const double at_once = all_begun < one_ended ? per_second(all_begun, one_ended) : 0;
    if (at_once > 0) return 1 / at_once;
    return 1 / per_second(Clock::time_point::min(), Clock::time_point::max());
}

ServeContestant::ServeContestant(const WholeModel& whole, base::Engine& engine,
                                 const ServeLengths& lengths)
    : whole_(whole), lengths_(lengths), scheduler_(model_with(whole, engine)) {}

double ServeContestant::decode(std::size_t generations) {
    TokenMeter meter(generations);
    for (std::size_t i = 0; i < generations; ++i) {
        GenerationRequest request{prompt_of(whole_, 1), {}, {}};
        request.sampling.max_tokens = lengths_.tokens;
        scheduler_.submit(
            std::move(request),
            [&meter, i](TokenId, auto) {
                meter.token(i);
                return true;
            },
            on_end());
    }
    settle(generations);
    return meter.seconds_per_token(lengths_.tokens);
}

double ServeContestant::first_token() {
    GenerationRequest request{prompt_of(whole_, lengths_.prompt), {}, {}};
    request.sampling.max_tokens = 1;
    const Clock::time_point start = Clock::now();
    Clock::time_point came = start;
    scheduler_.submit(
        std::move(request),
        [&came](TokenId, auto) {
            came = Clock::now();
            return true;
        },
        on_end());
    settle(1);
    base::require(came > start, "no first token came");
    return std::chrono::duration<double>(came - start).count();
}

void ServeContestant::settle(std::size_t generations) {
    constexpr std::chrono::milliseconds between{5};
    for (expected_ += generations; scheduler_.statistics().generations < expected_;) {
        std::this_thread::sleep_for(between);
    }
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
}

Scheduler::OnEnd ServeContestant::on_end() {
    return [this](const GenerationEnd& end) {
        const std::lock_guard lock(mutex_);
        if (end.error) failure_ = end.error;
    };
}

}  // namespace slip::bench
