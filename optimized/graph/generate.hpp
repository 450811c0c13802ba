// Generation, the same for every engine.
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

}  // namespace slip
