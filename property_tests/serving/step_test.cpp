// SERVE-1: which tokens go through the model together.
#include "optimized/serving/step.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {
namespace {

using serving::choose_step;
using serving::Generation;
using serving::Part;
using Generations = std::vector<std::shared_ptr<Generation>>;

const graph::Transformer& model() {
    static const SyntheticModel synthetic = random_llama(5);
    static const auto graph = graph::make_graph(synthetic.config, synthetic.lookup());
    return *graph;
}

/// One with a prompt of so many tokens, none of them computed yet.
std::shared_ptr<Generation> with_prompt(Scheduler::Id id, std::size_t tokens) {
    Submission submission;
    submission.request.prompt.assign(tokens, 1);
    auto generation = std::make_shared<Generation>(id, std::move(submission));
    generation->cache.emplace(model().config());
    return generation;
}

/// What a step does: computes its tokens, and gives one where logits were wanted.
void compute(const std::vector<Part>& parts) {
    for (const Part& part : parts) {
        Generation& generation = *part.generation;
        generation.cache->extend(part.tokens);
        if (generation.pending().empty()) generation.tokens.push_back(1);
    }
}

RC_GTEST_PROP(Step, SERVE_1_everybody_gets_on_and_prompts_keep_their_limit, ()) {
    Generations live;
    const auto count = *rc::gen::inRange<std::size_t>(1, 13).as("generations");
    const auto lengths =
        *rc::gen::container<std::vector<std::size_t>>(count, rc::gen::inRange<std::size_t>(1, 9))
             .as("prompts");
    for (const std::size_t length : lengths) live.push_back(with_prompt(live.size(), length));
    const auto prompt_tokens = *rc::gen::inRange<std::size_t>(1, 6).as("prompt_tokens");
    std::size_t prompts_left = 0;
    for (const std::size_t length : lengths) prompts_left += length;
    for (int step = 0; step < 120; ++step) {
        const auto decoding = static_cast<std::size_t>(std::count_if(
            live.begin(), live.end(), [](const auto& one) { return !one->has_prompt_left(); }));
        const auto parts = choose_step(live, model(), prompt_tokens);
        std::size_t of_prompts = 0;
        std::set<Scheduler::Id> ids;
        for (const Part& part : parts) {
            RC_ASSERT(part.tokens >= 1U && part.tokens <= part.generation->pending().size());
            RC_ASSERT(part.of_prompt == part.generation->has_prompt_left());
            RC_ASSERT(part.of_prompt || part.tokens == 1U);
            RC_ASSERT(ids.insert(part.generation->id).second);  // nobody twice
            of_prompts += part.of_prompt ? part.tokens : 0;
        }
        RC_ASSERT(of_prompts == std::min(prompts_left, prompt_tokens));
        const auto of_decoding = static_cast<std::size_t>(std::count_if(
            parts.begin(), parts.end(), [](const Part& part) { return !part.of_prompt; }));
        RC_ASSERT(of_decoding == decoding);
        prompts_left -= of_prompts;
        compute(parts);
    }
    RC_ASSERT(prompts_left == 0U);
}

TEST(Step, SERVE_1_prompts_are_served_in_the_order_of_their_arrival) {
    const Generations live{with_prompt(1, 5), with_prompt(2, 3), with_prompt(3, 3)};
    const auto parts = choose_step(live, model(), 7);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].generation->id, 1U);
    EXPECT_EQ(parts[0].tokens, 5U);
    EXPECT_EQ(parts[0].entry().logits, graph::Logits::last_position);
    EXPECT_EQ(parts[1].generation->id, 2U);
    EXPECT_EQ(parts[1].tokens, 2U);
    EXPECT_EQ(parts[1].entry().logits, graph::Logits::none);
    EXPECT_EQ(parts[1].entry().to_come, 1U);
}

}  // namespace
}  // namespace slip::testing
