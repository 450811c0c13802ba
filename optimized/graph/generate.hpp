// Generation, the same for every engine.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "optimized/graph/transformer.hpp"
#include "slip/model.hpp"

namespace slip {

/// Extends `prompt` (BOS included by the caller) until max_tokens or EOS. `on_token` sees each new
/// id and the logits it was chosen from. Returns the new ids (EOS not included).
std::vector<TokenId> generate(const Transformer& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const std::function<void(TokenId, std::span<const float>)>& on_token);

}  // namespace slip
