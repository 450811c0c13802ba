#include "optimized/graph/generate.hpp"

#include <algorithm>
#include <string>

#include "optimized/base/parallel.hpp"
#include "optimized/graph/sampler.hpp"

namespace slip::graph {

std::size_t positions_for(const Transformer& model, std::span<const TokenId> prompt,
                          const SamplingOptions& options) {
    if (prompt.empty()) throw BadInput("the prompt is empty: expected at least one token id");
    require_in_vocabulary(prompt, model.config());
    require_sampling_options(options);
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

std::vector<TokenId> generate(const Transformer& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const LanguageModel::OnToken& on_token) {
    const std::size_t positions = positions_for(model, prompt, options);
    KvCache cache(model.config());
    cache.reserve(positions);
    Workspace workspace(base::available_threads());
    Sampler sampler(options, prompt);
    std::vector<float> logits;
    std::vector<TokenId> generated;
    while (generated.size() < options.max_tokens) {
        const std::span<const TokenId> input =
            generated.empty() ? prompt : std::span<const TokenId>(&generated.back(), 1);
        model.forward(engine, workspace, {cache, input, Logits::last_position}, logits);
        const TokenId id = sampler.next(logits);
        if (model.config().ends_text(id)) break;
        generated.push_back(id);
        if (on_token && !on_token(id, logits)) break;
    }
    return generated;
}

}  // namespace slip::graph
