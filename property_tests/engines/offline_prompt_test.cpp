// Prompts that are longer than the stock of masks from offline Davids.
#include <gtest/gtest.h>

#include <bit>
#include <list>
#include <numeric>
#include <thread>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/protocol/offline_david.hpp"
#include "property_tests/generators/synthetic_model.hpp"

namespace slip::testing {
namespace {

using namespace protocol;
using graph::Logits;

std::vector<std::uint32_t> logits_of(const SplitLlama& split, graph::Engine& engine,
                                     const std::vector<TokenId>& prompt, Logits wanted) {
    graph::KvCache cache(split.graph.config());
    graph::Workspace workspace;
    std::vector<float> logits;
    split.graph.forward(engine, workspace, {cache, prompt, wanted}, logits);
    std::vector<std::uint32_t> bits;
    for (const float logit : logits) bits.push_back(std::bit_cast<std::uint32_t>(logit));
    return bits;
}

/// The prompt is split into steps that the stock can serve; no message has more columns than the
/// stock, and the logits equal those of one step.
TEST(OfflinePrompt, OFF_14_a_prompt_longer_than_the_stock_is_split_into_steps) {
    const SyntheticModel llama = random_llama(5);
    const SplitLlama split(llama, plan_for_all(llama.config, 3));
    engines::UnsplitEngine unsplit(split.charlie, split.david);
    const std::vector<TokenId> prompt(20, 1);
    for (const Logits wanted : {Logits::last_position, Logits::every_position}) {
        const protocol::DavidModel model{split.david.weights(), split.david.digest(),
                                         split.david.profile()};
        std::list<std::thread> threads;
        protocol::SessionOptions options;
        options.pool = {.depth = 3, .batch = 3};
        options.offline.interval = std::chrono::milliseconds(1);
        options.offline.peers.emplace_back([&] {
            auto [ours, theirs] = make_transport_pair();
            threads.emplace_back([&model, end = std::move(theirs)] {
                const auto offline = protocol::make_offline_session(model);
                EXPECT_NO_THROW(serve(*offline, *end));
            });
            return std::move(ours);
        });
        {
            HybridRun hybrid(split, options);
            EXPECT_EQ(hybrid.engine.largest_step(), 3U);
            EXPECT_EQ(logits_of(split, hybrid.engine, prompt, wanted),
                      logits_of(split, unsplit, prompt, wanted));
            std::uint64_t columns = 0;
            for (const auto& message : applies_in(hybrid.transport)) {
                EXPECT_LE(message.columns, 3U);
                columns += message.group == 0 ? message.columns : 0;
            }
            EXPECT_EQ(columns, prompt.size()) << "every token once";
        }
        for (std::thread& thread : threads) thread.join();
    }
}

}  // namespace
}  // namespace slip::testing
