#include "optimized/serving/step.hpp"

#include <algorithm>
#include <span>

namespace slip::serving {
namespace {

using Generations = std::vector<std::shared_ptr<Generation>>;

void append_decoding(const Generations& live, std::vector<Part>& parts) {
    for (const auto& generation : live) {
        if (!generation->has_prompt_left()) parts.push_back({generation, 1, false});
    }
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
    const auto otherwise = left == 0 ? graph::Logits::last_position : graph::Logits::none;
    return {*generation->cache, pending.first(tokens),
            shows_prompt() ? graph::Logits::every_position : otherwise, left};
}

std::vector<Part> choose_step(const Generations& live, const graph::Transformer& graph,
                              std::size_t prompt_tokens) {
    std::vector<Part> parts;
    append_decoding(live, parts);
    append_prompts(live, prompt_tokens, parts);
    for (const Part& part : parts) {
        if (graph.computes_keys_again(part.entry())) return {part};
    }
    return parts;
}

}  // namespace slip::serving
