#include "optimized/graph/generate.hpp"

#include <algorithm>
#include <string>

#include "optimized/base/parallel.hpp"
#include "optimized/graph/guesses.hpp"
#include "optimized/graph/sampler.hpp"

namespace slip::graph {
std::size_t positions_for(const Transformer& model, std::span<const TokenId> prompt,
                          const SamplingOptions& options) {
    if (prompt.empty()) throw BadInput("the prompt is empty: expected at least one token id");
    require_in_vocabulary(prompt, model.config());
    require_sampling_options(options);
    for (const auto& [id, bias] : options.logit_bias) {
        require_in_vocabulary(std::span(&id, 1), model.config());
    }
    // The last new token is never an input, so it needs no position.
    const std::size_t further = std::max<std::size_t>(options.max_tokens, 1) - 1;
    const std::size_t limit = model.config().max_position_embeddings;
    if (prompt.size() > limit || further > limit - prompt.size()) {
        throw BadInput("a prompt of " + std::to_string(prompt.size()) + " tokens and " +
                       std::to_string(options.max_tokens) +
                       " new ones do not fit the model's max_position_embeddings " +
                       std::to_string(limit));
    }
    return prompt.size() + further;
}

std::span<const TokenId> KeptSequence::begin(std::span<const TokenId> prompt) {
    const std::span<const TokenId> all_but_last = prompt.first(prompt.size() - 1);
    const auto differ =
        std::mismatch(all_but_last.begin(), all_but_last.end(), ids_.begin(), ids_.end());
    const auto shared = static_cast<std::size_t>(differ.first - all_but_last.begin());
    cache_.truncate(shared);
    ids_.resize(shared);
    return prompt.subspan(shared);
}

void KeptSequence::extend(const Transformer& model, base::Engine& engine, Workspace& workspace,
                          std::span<const TokenId> ids, Logits wanted, std::vector<float>& logits) {
    ids_.reserve(ids_.size() + ids.size());
    model.forward(engine, workspace, {cache_, ids, wanted}, logits);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
}

void KeptSequence::truncate(std::size_t length) {
    cache_.truncate(length);
    ids_.resize(length);
}

std::size_t room_for_guesses(const base::ModelConfig& config, std::size_t length,
                             std::size_t further) {
    const std::size_t room = further - 1;
    const std::size_t original = config.rope.scaling.original_positions;
    return longrope(config) && length <= original ? std::min(room, original - length) : room;
}

std::vector<TokenId> generate(const Transformer& model, base::Engine& engine,
                              KeptSequence& sequence, std::span<const TokenId> prompt,
                              const SamplingOptions& options, const OnToken& on_token) {
    const std::size_t positions = positions_for(model, prompt, options);
    std::span<const TokenId> input = sequence.begin(prompt);
    sequence.reserve(positions);
    Workspace workspace(base::available_threads());
    Sampler sampler(options, prompt);
    Guesses guesses(options.guesses);
    guesses.append(prompt);
    std::vector<float> logits;
    std::vector<TokenId> generated;
    const auto take = [&](std::size_t row) {  // of logits; returns whether to go on
        const std::size_t width = model.config().vocab_size;
        const auto of_row = std::span(logits).subspan(row * width, width);
        const TokenId id = sampler.next(of_row);
        if (model.config().ends_text(id)) return false;
        generated.push_back(id);
        if (on_token && !on_token(id, of_row)) return false;
        return generated.size() < options.max_tokens;
    };
    std::vector<TokenId> step;  // the last token and what is guessed to follow it
    while (options.max_tokens > 0) {
        const std::size_t guessed = step.empty() ? 0 : step.size() - 1;
        sequence.extend(model, engine, workspace, input,
                        guessed > 0 ? Logits::every_position : Logits::last_position, logits);
        // MODEL-21: the row behind a guess counts if the row before has given the guess.
        std::size_t right = 0;
        bool more = take(0);
        while (more && right < guessed && generated.back() == step[right + 1]) more = take(++right);
        if (!more) break;
        const std::size_t length = prompt.size() + generated.size();
        sequence.truncate(length - 1);
        guesses.judge(right);
        guesses.append(std::span(generated).last(right + 1));
        const auto proposed = guesses.propose(
            room_for_guesses(model.config(), length, options.max_tokens - generated.size()));
        step.assign(1, generated.back());
        step.insert(step.end(), proposed.begin(), proposed.end());
        input = step;
    }
    return generated;
}

std::vector<TokenId> generate(const Transformer& model, base::Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const OnToken& on_token) {
    KeptSequence sequence(model.config());
    return generate(model, engine, sequence, prompt, options, on_token);
}

}  // namespace slip::graph
