// A model whose block is bypassed is the model that never had it, bit for bit (DECO-12).
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "optimized/engines/bypass_engine.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/without_blocks.hpp"

namespace slip::testing {
namespace {

using engines::BlockWindow;
using engines::BypassEngine;

std::vector<std::uint32_t> logits_of(const SyntheticModel& model, const std::vector<TokenId>& ids) {
    const auto graph = graph::make_graph(model.config, model.lookup());
    engines::FloatEngine engine(graph::groups_of(model.config), model.lookup());
    return bits_of(logits_in_calls(*graph, engine, ids, ids.size()));
}

std::vector<std::uint32_t> bypassed_logits(const SyntheticModel& model, BlockWindow window,
                                           const std::vector<TokenId>& ids) {
    const auto groups = graph::groups_of(model.config);
    const auto graph = graph::make_graph(
        model.config, engines::parameters_without_biases(model.lookup(), groups, window));
    engines::FloatEngine in_float(groups, model.lookup());
    BypassEngine engine(in_float, groups, window);
    return bits_of(logits_in_calls(*graph, engine, ids, ids.size()));
}

RC_GTEST_PROP(Bypass, DECO_12_a_bypassed_window_is_a_model_without_these_blocks,
              (std::uint64_t seed)) {
    const SyntheticModel model = random_model(seed);
    const std::size_t blocks = model.config.num_hidden_layers;
    BlockWindow window;
    window.first = *rc::gen::inRange<std::size_t>(0, blocks);
    window.count = *rc::gen::inRange<std::size_t>(0, blocks - window.first + 1);
    const auto ids = random_ids(seed, 6, model.config.vocab_size);
    RC_ASSERT(bypassed_logits(model, window, ids) ==
              logits_of(without_blocks(model, window.first, window.count), ids));
}

TEST(Bypass, DECO_12_a_window_ends_where_it_says) {
    const BlockWindow window{2, 3};
    EXPECT_FALSE(window.contains(1));
    EXPECT_TRUE(window.contains(2));
    EXPECT_TRUE(window.contains(4));
    EXPECT_FALSE(window.contains(5));
    EXPECT_FALSE(window.contains(std::nullopt));
    EXPECT_FALSE((BlockWindow{0, 0}).contains(0));
}

/// An engine that counts what it is asked.
class Counting : public base::Engine {
public:
    void apply(base::GroupId, base::MatrixView<const float>,
               std::span<const base::MatrixView<float>>) override {
        ++applied;
    }
    std::size_t applied = 0;
};

TEST(Bypass, DECO_12_what_is_not_bypassed_is_the_other_engines) {
    const SyntheticModel model = random_llama(3);
    const auto groups = graph::groups_of(model.config);
    Counting counting;
    BypassEngine engine(counting, groups, {0, 1});
    const std::size_t head = groups.size() - 1;
    std::vector<float> input(groups[head].n);
    std::vector<float> output(groups[head].members[0].m, 1);
    const base::MatrixView<float> outputs[] = {{output.data(), 1, output.size()}};
    const base::MatrixView<const float> row(input.data(), 1, input.size());
    engine.apply(static_cast<base::GroupId>(head), row, outputs);
    EXPECT_EQ(counting.applied, 1U);
    EXPECT_THROW(engine.apply(static_cast<base::GroupId>(head + 1), row, outputs), InternalError);
}

TEST(Bypass, DECO_12_a_bypassed_group_refuses_other_shapes) {
    const SyntheticModel model = random_llama(3);
    const auto groups = graph::groups_of(model.config);
    Counting counting;
    BypassEngine engine(counting, groups, {0, 1});
    const std::size_t output_projection = 1;  // its group has one member
    std::vector<float> input(groups[output_projection].n);
    std::vector<float> output(groups[output_projection].members[0].m, 1);
    const base::MatrixView<float> outputs[] = {{output.data(), 1, output.size()}};
    const base::MatrixView<const float> row(input.data(), 1, input.size());
    engine.apply(output_projection, row, outputs);
    EXPECT_EQ(output, std::vector<float>(output.size(), 0));
    EXPECT_EQ(counting.applied, 0U);
    EXPECT_THROW(engine.apply(output_projection, {input.data(), 1, input.size() - 1}, outputs),
                 InternalError);
    const base::MatrixView<float> narrower[] = {{output.data(), 1, output.size() - 1}};
    EXPECT_THROW(engine.apply(output_projection, row, narrower), InternalError);
}

}  // namespace
}  // namespace slip::testing
