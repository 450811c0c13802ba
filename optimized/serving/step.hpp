// What goes through the model in one step: SERVE-1.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "optimized/graph/transformer.hpp"
#include "optimized/serving/generation.hpp"

namespace slip::serving {

/// The next tokens of one generation.
struct BatchPart {
    std::shared_ptr<Generation> generation;
    std::size_t tokens;  // at least 1
    bool of_prompt;

    bool guesses() const { return !of_prompt && !generation->guessed.empty(); }
    /// Whether logits of every token of the prompt are wanted.
    bool shows_prompt() const { return of_prompt && generation->shows_prompt(); }
    /// As the graph takes it. Logits of the last token are wanted once none is left that is known
    /// already.
    graph::BatchEntry entry() const;
};

/// How many columns a step may have.
struct StepLimits {
    std::size_t prompt_tokens = 1;  // of prompts, at least 1
    /// Columns of generations that decode, before one of them guesses less (MODEL-21).
    std::size_t guess_columns = 0;
};

/// One token of each generation that decodes, with its guesses, then tokens of prompts, in the
/// order of `live`. A generation whose keys are to be computed again goes alone, because
/// that takes further passes. Requires at least one generation in `live`, each with pending()
/// tokens.
std::vector<BatchPart> choose_step(const std::vector<std::shared_ptr<Generation>>& live,
                                   const graph::Transformer& graph, const StepLimits& limits);

}  // namespace slip::serving
