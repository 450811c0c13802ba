// What the schedule tells David: the lengths of a prompt and of the answer, which is when the
// generation stopped. No rule hides it (spec/threat-model.md, "What David learns").
#include <algorithm>

#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/victim.hpp"
#include "optimized/graph/kv_cache.hpp"

namespace slip::attacks {
namespace {

struct Lengths {
    std::size_t prompt = 0;
    std::size_t answer = 0;
    bool operator==(const Lengths&) const = default;
};

/// Feeds the prompt, and `tokens` tokens of the model's own choice one by one.
void generate(const Victim& victim, base::Engine& engine, std::vector<TokenId> ids,
              std::size_t tokens) {
    graph::KvCache cache(victim.config());
    graph::Workspace workspace;
    std::vector<float> logits;
    for (std::size_t step = 0;; ++step) {
        victim.graph().forward(engine, workspace,
                               graph::BatchEntry{cache, ids, graph::Logits::last_position}, logits);
        if (step == tokens) return;
        const auto next = std::max_element(logits.begin(), logits.end()) - logits.begin();
        ids = {static_cast<TokenId>(next)};
    }
}

/// The first group has a message per step, with a column per token.
Lengths read(const View& view) {
    Lengths lengths;
    for (const Message& message : view) {
        if (message.group != 0) continue;
        (lengths.prompt == 0 ? lengths.prompt : lengths.answer) += message.columns;
    }
    return lengths;
}

Outcome schedule(const Victim& victim, const Setting& setting) {
    std::mt19937_64 random(setting.seed);
    const std::uint64_t sessions = setting.full ? 200 : 3;
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < sessions; ++i) {
        const Lengths right{1 + random() % 24, random() % 12};
        ProductSession session(victim);
        generate(victim, session.engine(), random_prompt(victim.config(), right.prompt, random),
                 right.answer);
        wrong += !(read(session.view()) == right);
    }
    return {static_cast<double>(wrong) / static_cast<double>(sessions), 0, sessions,
            "prompts of 1 to 24 tokens, answers of 0 to 11"};
}

}  // namespace

Outcome schedule_product(const Setting& setting) { return schedule(victim_of(setting), setting); }
Outcome schedule_hidden(const Setting& setting) {
    return schedule(hidden_victim_of(setting), setting);
}

}  // namespace slip::attacks
