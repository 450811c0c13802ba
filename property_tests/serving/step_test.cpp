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

using serving::BatchPart;
using serving::choose_step;
using serving::Generation;
using Generations = std::vector<std::shared_ptr<Generation>>;

const graph::Transformer& model() {
    static const SyntheticModel synthetic = random_llama(5);
    static const auto graph = graph::make_graph(synthetic.config, synthetic.lookup());
    return *graph;
}

/// A generation with a prompt of `tokens` tokens, none of them computed yet: one token again and
/// again, so that each of its steps can guess.
std::shared_ptr<Generation> with_prompt(Scheduler::Id id, std::size_t tokens,
                                        std::size_t guesses = 0) {
    Submission submission;
    submission.request.prompt.assign(tokens, 1);
    submission.request.sampling.max_tokens = 1000;
    auto generation = std::make_shared<Generation>(id, std::move(submission));
    generation->cache.emplace(model().config());
    generation->guesses = graph::Guesses(guesses);
    generation->guesses.append(generation->tokens);
    return generation;
}

/// What a step does: computes its tokens, and gives one where logits were wanted. No guess is
/// right.
void compute(const std::vector<BatchPart>& parts) {
    for (const BatchPart& part : parts) {
        Generation& generation = *part.generation;
        generation.cache->extend(part.guesses() ? 1 : part.tokens);
        if (!generation.pending().empty()) continue;
        generation.tokens.push_back(1);
        generation.guesses.append(std::span(generation.tokens).last(1));
    }
}

RC_GTEST_PROP(Step, SERVE_1_everybody_gets_on_and_prompts_keep_their_limit, ()) {
    Generations live;
    const auto count = *rc::gen::inRange<std::size_t>(1, 13).as("generations");
    const auto lengths =
        *rc::gen::container<std::vector<std::size_t>>(count, rc::gen::inRange<std::size_t>(1, 9))
             .as("prompts");
    const auto guesses = *rc::gen::inRange<std::size_t>(0, 5).as("guesses");
    for (const std::size_t length : lengths) {
        live.push_back(with_prompt(live.size(), length, guesses));
    }
    const auto guess_columns = *rc::gen::inRange<std::size_t>(0, 30).as("guess_columns");
    const auto prompt_tokens = *rc::gen::inRange<std::size_t>(1, 6).as("prompt_tokens");
    std::size_t prompts_left = 0;
    for (const std::size_t length : lengths) prompts_left += length;
    for (int step = 0; step < 120; ++step) {
        const auto decoding = static_cast<std::size_t>(std::count_if(
            live.begin(), live.end(), [](const auto& one) { return !one->has_prompt_left(); }));
        const auto parts = choose_step(live, model(), {prompt_tokens, guess_columns});
        std::size_t of_prompts = 0;
        std::size_t columns = 0;
        std::set<Scheduler::Id> ids;
        for (const BatchPart& part : parts) {
            RC_ASSERT(part.of_prompt == part.generation->has_prompt_left());
            RC_ASSERT(part.tokens >= 1U);
            RC_ASSERT(!part.of_prompt || part.tokens <= part.generation->pending().size());
            RC_ASSERT(part.of_prompt || part.tokens == 1U || part.tokens == 1 + guesses);
            RC_ASSERT(part.entry().ids.size() == part.tokens);
            columns += part.of_prompt ? 0 : part.tokens;
            RC_ASSERT(ids.insert(part.generation->id).second);  // nobody twice
            of_prompts += part.of_prompt ? part.tokens : 0;
        }
        RC_ASSERT(of_prompts == std::min(prompts_left, prompt_tokens));
        RC_ASSERT(columns <= std::max(decoding, guess_columns));
        // Five tokens can be guessed from, as far as there is room.
        const bool all_long = std::all_of(live.begin(), live.end(),
                                          [](const auto& one) { return one->tokens.size() > 5; });
        if (all_long && decoding == count && guesses > 0) {
            RC_ASSERT(columns + guesses > std::min(guess_columns, decoding * (1 + guesses)));
        }
        const auto of_decoding = static_cast<std::size_t>(std::count_if(
            parts.begin(), parts.end(), [](const BatchPart& part) { return !part.of_prompt; }));
        RC_ASSERT(of_decoding == decoding);
        prompts_left -= of_prompts;
        compute(parts);
    }
    RC_ASSERT(prompts_left == 0U);
}

TEST(Step, SERVE_1_prompts_are_served_in_the_order_of_their_arrival) {
    const Generations live{with_prompt(1, 5), with_prompt(2, 3), with_prompt(3, 3)};
    const auto parts = choose_step(live, model(), {7, 0});
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
