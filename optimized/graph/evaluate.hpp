// How good a model is, the same for every engine: perplexity and multiple choice (MODEL-12).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "optimized/graph/transformer.hpp"
#include "slip/evaluate.hpp"

namespace slip::graph {

/// Adds up the negative log-likelihoods of all `ids`. The first window scores as many as it is
/// long, the token `before` standing before them; every later one scores the next `stride` ids, the
/// last of its `length` successors. `progress` sees the tokens done.
PerplexityResult perplexity(const Transformer& model, base::Engine& engine,
                            std::span<const TokenId> ids, TokenId before, Windows windows,
                            const std::function<void(std::uint64_t)>& progress);

/// What each window of the range adds to perplexity()'s sum. `progress` sees the windows done.
std::vector<double> window_losses(const Transformer& model, base::Engine& engine,
                                  std::span<const TokenId> ids, TokenId before, Windows windows,
                                  WindowRange range,
                                  const std::function<void(std::size_t)>& progress);

/// A text whose last `scored` tokens are judged.
struct Continuation {
    std::vector<TokenId> tokens;
    std::size_t scored = 0;  // at least 1, less than all
};

/// The log-likelihood, in nats, of the scored tokens of each continuation, given the tokens before
/// them; of a text that does not fit the model's context the end counts. What the continuations
/// begin with in common is computed once. Throws BadInput if more is scored than fits.
std::vector<double> log_likelihoods(const Transformer& model, base::Engine& engine,
                                    std::vector<Continuation> continuations);

}  // namespace slip::graph
