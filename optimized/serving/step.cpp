#include "optimized/serving/step.hpp"

#include <algorithm>
#include <span>

#include "optimized/graph/generate.hpp"

namespace slip::serving {
namespace {

using Generations = std::vector<std::shared_ptr<Generation>>;

/// Whether as many are guessed as the generation would like to, or none.
void guess(Generation& generation, const base::ModelConfig& config, std::size_t columns) {
    generation.guessed.clear();
    if (generation.guesses.count() == 0 || generation.guesses.count() > columns) return;
    const std::size_t further =
        generation.request.sampling.max_tokens - generation.receipt.generated_tokens;
    const auto guesses = generation.guesses.propose(
        graph::room_for_guesses(config, generation.tokens.size(), further));
    if (guesses.empty()) return;
    generation.guessed.assign(1, generation.tokens.back());
    generation.guessed.insert(generation.guessed.end(), guesses.begin(), guesses.end());
    generation.known_positions = generation.cache->length();
}

void append_decoding(const Generations& live, const base::ModelConfig& config,
                     std::size_t guess_columns, std::vector<BatchPart>& parts) {
    for (const auto& generation : live) {
        if (!generation->has_prompt_left()) parts.push_back({generation, 1, false});
    }
    std::size_t columns = guess_columns - std::min(guess_columns, parts.size());
    for (BatchPart& part : parts) {
        guess(*part.generation, config, columns);
        if (!part.guesses()) continue;
        part.tokens = part.generation->guessed.size();
        columns -= part.tokens - 1;
    }
}

void append_prompts(const Generations& live, std::size_t room, std::vector<BatchPart>& parts) {
    for (const auto& generation : live) {
        if (room == 0) return;
        if (!generation->has_prompt_left()) continue;
        const std::size_t tokens =
            std::min({room, generation->pending().size(), graph::KvCache::tokens_at_once});
        parts.push_back({generation, tokens, true});
        room -= tokens;
    }
}

}  // namespace

graph::BatchEntry BatchPart::entry() const {
    if (guesses()) {
        return {*generation->cache, generation->guessed, graph::Logits::every_position};
    }
    const auto pending = generation->pending();
    const std::size_t left = pending.size() - tokens;
    const auto otherwise = left == 0 ? graph::Logits::last_position : graph::Logits::none;
    return {*generation->cache, pending.first(tokens),
            shows_prompt() ? graph::Logits::every_position : otherwise, left};
}

std::vector<BatchPart> choose_step(const Generations& live, const graph::Transformer& graph,
                                   const StepLimits& limits) {
    std::vector<BatchPart> parts;
    append_decoding(live, graph.config(), limits.guess_columns, parts);
    append_prompts(live, limits.prompt_tokens, parts);
    for (const BatchPart& part : parts) {
        if (graph.computes_keys_again(part.entry())) return {part};
    }
    return parts;
}

}  // namespace slip::serving
