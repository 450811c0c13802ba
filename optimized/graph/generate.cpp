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

void KeptSequence::extend(const Transformer& model, Engine& engine, Workspace& workspace,
                          std::span<const TokenId> ids, std::vector<float>& logits) {
    ids_.reserve(ids_.size() + ids.size());
    model.forward(engine, workspace, {cache_, ids, Logits::last_position}, logits);
    ids_.insert(ids_.end(), ids.begin(), ids.end());
}

std::vector<TokenId> generate(const Transformer& model, Engine& engine, KeptSequence& sequence,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const LanguageModel::OnToken& on_token) {
    const std::size_t positions = positions_for(model, prompt, options);
    std::span<const TokenId> input = sequence.begin(prompt);
    sequence.reserve(positions);
    Workspace workspace(base::available_threads());
    Sampler sampler(options, prompt);
    std::vector<float> logits;
    std::vector<TokenId> generated;
    while (generated.size() < options.max_tokens) {
        sequence.extend(model, engine, workspace, input, logits);
        const TokenId id = sampler.next(logits);
        if (model.config().ends_text(id)) break;
        generated.push_back(id);
        if (on_token && !on_token(id, logits)) break;
        input = {&generated.back(), 1};
    }
    return generated;
}

std::vector<TokenId> generate(const Transformer& model, Engine& engine,
                              std::span<const TokenId> prompt, const SamplingOptions& options,
                              const LanguageModel::OnToken& on_token) {
    KeptSequence sequence(model.config());
    return generate(model, engine, sequence, prompt, options, on_token);
}

}  // namespace slip::graph
