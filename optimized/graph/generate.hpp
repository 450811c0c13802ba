// Generation and evaluation, the same for every engine.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "optimized/graph/language_model.hpp"

namespace slip {

struct SamplingOptions {
    std::size_t max_tokens = 0;
    double temperature = 0;  // 0 is greedy: the largest logit, the lowest id among equals
    std::uint64_t seed = 0;
};

/// Extends `prompt` (BOS included by the caller) until max_tokens or EOS. `on_token` sees each new
/// id and the logits it was chosen from. Returns the new ids (EOS not included).
std::vector<TokenId> generate(const LanguageModel& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const std::function<void(TokenId, std::span<const float>)>& on_token);

struct PerplexityResult {
    std::uint64_t tokens = 0;
    double nll = 0;  // nats, total
    double perplexity() const;
};

/// Splits `ids` (no BOS) into windows of `context` - 1 tokens, puts BOS before each, and adds up
/// the negative log-likelihood of every token of `ids` given its window so far. `progress` sees the
/// tokens done.
PerplexityResult perplexity(const LanguageModel& model, Engine& engine,
                            std::span<const TokenId> ids, std::size_t context,
                            const std::function<void(std::uint64_t)>& progress);

}  // namespace slip
