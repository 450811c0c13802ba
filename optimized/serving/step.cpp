#include "optimized/serving/step.hpp"

#include <algorithm>
#include <span>

namespace slip::serving {
namespace {

using Generations = std::vector<std::shared_ptr<Generation>>;

void append_decoding(const Generations& live, std::size_t room, std::vector<Part>& parts) {
    Generations decoding;
    for (const auto& generation : live) {
        if (!generation->has_prompt_left()) decoding.push_back(generation);
    }
    if (decoding.size() > room) {
        std::stable_sort(decoding.begin(), decoding.end(),
                         [](const auto& a, const auto& b) { return a->last_step < b->last_step; });
        decoding.resize(room);
    }
    for (auto& generation : decoding) parts.push_back({std::move(generation), 1, false});
}

void append_prompts(const Generations& live, std::size_t room, std::vector<Part>& parts) {
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

graph::BatchEntry Part::entry() const {
    const auto pending = generation->pending();
    const std::size_t left = pending.size() - tokens;
    return {*generation->cache, pending.first(tokens),
            left == 0 ? graph::Logits::last_position : graph::Logits::none, left};
}

std::vector<Part> choose_step(const Generations& live, const graph::Transformer& graph,
                              const StepLimits& limits) {
    const bool prompts = std::any_of(live.begin(), live.end(),
                                     [](const auto& one) { return one->has_prompt_left(); });
    std::vector<Part> parts;
    append_decoding(live, prompts && limits.largest > 1 ? limits.largest - 1 : limits.largest,
                    parts);
    append_prompts(live, std::min(limits.prompt_tokens, limits.largest - parts.size()), parts);
    for (const Part& part : parts) {
        if (graph.computes_keys_again(part.entry())) return {part};
    }
    return parts;
}

}  // namespace slip::serving
