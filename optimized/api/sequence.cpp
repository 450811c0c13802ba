#include "slip/sequence.hpp"

#include "optimized/api/access.hpp"
#include "optimized/graph/generate.hpp"

namespace slip {

struct Sequence::State {
    LanguageModel& model;
    graph::KeptSequence kept;
};

Sequence::Sequence(LanguageModel& model)
    : state_(std::make_unique<State>(
          State{model, graph::KeptSequence(Access::of(model).graph->config())})) {}

Sequence::Sequence(Sequence&&) noexcept = default;
Sequence& Sequence::operator=(Sequence&&) noexcept = default;
Sequence::~Sequence() = default;

std::vector<TokenId> Sequence::generate(std::span<const TokenId> prompt,
                                        const SamplingOptions& options, const OnToken& on_token) {
    const Access::LanguageState& model = Access::of(state_->model);
    return graph::generate(*model.graph, model.runtime->engine(), state_->kept, prompt, options,
                           on_token);
}

}  // namespace slip
