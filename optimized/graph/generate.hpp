// Generation, the same for every engine.
#pragma once

#include <span>
#include <vector>

#include "optimized/graph/transformer.hpp"
#include "slip/language_model.hpp"

namespace slip::graph {

/// The positions that prompt and new tokens take. Throws BadInput for what
/// LanguageModel::generate() refuses.
std::size_t positions_for(const Transformer& model, std::span<const TokenId> prompt,
                          const SamplingOptions& options);

/// LanguageModel::generate(), for any graph and engine; BOS is included by the caller.
std::vector<TokenId> generate(const Transformer& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const LanguageModel::OnToken& on_token);

}  // namespace slip::graph
