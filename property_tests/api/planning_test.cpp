// Measuring a checkpoint and planning from it (DECO-12), through the public headers.
// test: threads
#include "slip/planning.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/generators/without_blocks.hpp"
#include "slip/charlie.hpp"
#include "slip/evaluate.hpp"
#include "slip/model.hpp"
#include "slip/split.hpp"

namespace slip::testing {
namespace {

/// A LLaMA of at least two blocks.
SyntheticModel several_blocks() {
    for (std::uint64_t seed = 1;; ++seed) {
        SyntheticModel model = random_llama(seed);
        if (model.config.num_hidden_layers > 1) return model;
    }
}

double loss_of(const SyntheticModel& synthetic, const std::vector<TokenId>& text) {
    const TemporaryFolder folder;
    write_checkpoint(synthetic, folder / "model");
    auto model = open_checkpoint<LanguageModel>(folder / "model");
    const std::size_t context = model.max_positions();
    const PerplexityResult result = perplexity(model, text, {context, context});
    return result.nll / static_cast<double>(result.tokens);
}

TEST(Planning, DECO_12_a_block_is_worth_what_the_text_loses_without_it) {
    const SyntheticModel model = several_blocks();
    const auto text = random_ids(4, 40, model.config.vocab_size);
    const TemporaryFolder folder;
    write_checkpoint(model, folder / "model");

    const CheckpointMeasurements measured = measure_checkpoint(folder / "model", {.text = text});

    EXPECT_EQ(measured.tokens, text.size());
    EXPECT_EQ(measured.loss, loss_of(model, text));
    ASSERT_EQ(measured.bypass_losses.size(), model.config.num_hidden_layers);
    for (std::size_t block = 0; block < measured.bypass_losses.size(); ++block) {
        EXPECT_EQ(measured.bypass_losses[block],
                  loss_of(without_blocks(model, block, 1), text) - measured.loss);
    }
}

TEST(Planning, DECO_12_work_is_counted_for_the_whole_model_and_spectra_for_the_blocks) {
    const SyntheticModel model = several_blocks();
    const TemporaryFolder folder;
    write_checkpoint(model, folder / "model");

    const CheckpointMeasurements measured = measure_checkpoint(folder / "model", {});

    std::uint64_t multiplications = 0;
    std::size_t at = 0;
    for (const base::GroupShape& group : graph::groups_of(model.config)) {
        for (const base::MemberShape& member : group.members) {
            multiplications += member.m * group.n;
            if (!member.block) continue;
            ASSERT_LT(at, measured.matrices.size());
            const MeasuredMatrix& matrix = measured.matrices[at++];
            EXPECT_EQ(matrix.block, *member.block);
            EXPECT_EQ(matrix.layer_type, member.layer_type);
            EXPECT_EQ(matrix.work_per_rank, member.m + group.n);
            const auto& squares = matrix.squared_singular_values;
            ASSERT_EQ(squares.size(), std::min(member.m, group.n));
            double of_weights = 0;  // ||W||_F^2 is the sum of the squares
            for (const float w : model[member.tensor + ".weight"]) of_weights += double{w} * w;
            EXPECT_NEAR(std::accumulate(squares.begin(), squares.end(), 0.0), of_weights,
                        1e-9 * of_weights);
        }
    }
    EXPECT_EQ(at, measured.matrices.size());
    EXPECT_EQ(measured.multiplications, multiplications);
    EXPECT_EQ(measured.tokens, 0U);
    EXPECT_TRUE(measured.bypass_losses.empty());
}

TEST(Planning, DECO_12_what_charlie_multiplies_is_what_a_session_counts) {
    const SyntheticModel model = several_blocks();
    const TemporaryFolder folder;
    write_checkpoint(model, folder / "model");
    const auto measured = measure_checkpoint(folder / "model", {});
    SplitOptions options;
    options.plan = plan_for_uniform_work(measured, 2);
    options.out = folder / "artifact";
    split_checkpoint(folder / "model", options);

    auto charlie = open_charlie_in_process<LanguageModel>(options.out);
    charlie.forward(random_ids(1, 3, model.config.vocab_size));

    const RunStatistics run = charlie.statistics();
    EXPECT_EQ(run.charlie_multiplications, 3 * figures_of(measured, options.plan).charlie);
    EXPECT_EQ(run.david_multiplications, 3 * measured.multiplications);
}

TEST(Planning, DECO_12_threads_change_nothing_and_progress_is_told) {
    const SyntheticModel model = several_blocks();
    const TemporaryFolder folder;
    write_checkpoint(model, folder / "model");
    MeasureOptions options;
    options.text = random_ids(4, 30, model.config.vocab_size);
    const auto once = measure_checkpoint(folder / "model", options);
    options.threads = 3;
    std::vector<MeasureProgress> told;
    options.progress = [&](const MeasureProgress& now) { told.push_back(now); };

    const auto again = measure_checkpoint(folder / "model", options);

    EXPECT_EQ(again.bypass_losses, once.bypass_losses);
    for (std::size_t i = 0; i < once.matrices.size(); ++i) {
        EXPECT_EQ(again.matrices[i].squared_singular_values,
                  once.matrices[i].squared_singular_values);
    }
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(told.front().what, "matrices");
    EXPECT_EQ(told.back().what, "tokens");
    EXPECT_EQ(told.back().done, told.back().total);
    EXPECT_EQ(told.back().total, (model.config.num_hidden_layers + 1) * options.text.size());
}

TEST(Planning, DECO_12_texts_that_cannot_be_read_are_refused) {
    const SyntheticModel model = several_blocks();
    const TemporaryFolder folder;
    write_checkpoint(model, folder / "model");
    const auto outside = static_cast<TokenId>(model.config.vocab_size);
    for (const std::vector<TokenId>& text :
         {std::vector<TokenId>{1, outside}, std::vector<TokenId>{-1, 1}}) {
        const std::string message =
            refusal([&] { measure_checkpoint(folder / "model", {.text = text}); });
        EXPECT_NE(message.find("outside the vocabulary"), std::string::npos) << message;
    }
}

/// Two blocks of one matrix each, 4 x 4, and a head that is not planned.
CheckpointMeasurements two_blocks() {
    CheckpointMeasurements measured;
    measured.matrices = {{0, "q_proj", 8, {8, 4, 2, 2}}, {1, "q_proj", 8, {8, 4, 2, 2}}};
    measured.multiplications = 160;
    measured.charlie_at_rank_0 = 100;
    return measured;
}

TEST(Planning, DECO_12_targets) {
    const CheckpointMeasurements measured = two_blocks();
    // 1 - 24 / 160 = 0.85; a fourth component would leave 0.8.
    EXPECT_EQ(plan_for_offload(measured, 0.85), (Plan{{0, "q_proj", 2}, {1, "q_proj", 1}}));
    EXPECT_EQ(plan_for_offload(measured, 0.81), (Plan{{0, "q_proj", 2}, {1, "q_proj", 1}}));
    EXPECT_EQ(plan_for_leakage(measured, 0.5), (Plan{{0, "q_proj", 1}, {1, "q_proj", 1}}));
    EXPECT_EQ(plan_for_leakage(measured, 0.49), (Plan{{0, "q_proj", 2}, {1, "q_proj", 1}}));
    EXPECT_EQ(plan_for_uniform_work(measured, 1), uniform_plan(measured, 1));
    EXPECT_EQ(uniform_plan(measured, 9), (Plan{{0, "q_proj", 3}, {1, "q_proj", 3}}));
    EXPECT_EQ(uniform_rank(measured, 0), 0U);
    EXPECT_EQ(uniform_rank(measured, 16), 1U);
    EXPECT_EQ(uniform_rank(measured, 17), 2U);
    EXPECT_EQ(uniform_rank(measured, 1000), 3U);
}

TEST(Planning, DECO_12_figures) {
    const PlanFigures figures = figures_of(two_blocks(), {{0, "q_proj", 2}});
    EXPECT_EQ(figures.work, 16U);
    EXPECT_DOUBLE_EQ(figures.offload, 0.9);
    EXPECT_DOUBLE_EQ(figures.leakage, (0.25 + 1) / 2);
    EXPECT_EQ(figures.charlie, 116U);
    EXPECT_EQ(figures.whole, 1U);
    EXPECT_EQ(figures_of(two_blocks(), {}).leakage, 1);
    EXPECT_EQ(figures_of(two_blocks(), {{0, "q_proj", 99}}).work, 24U);  // cut (DECO-2)
}

TEST(Planning, DECO_12_bypass_losses_are_the_weights) {
    CheckpointMeasurements measured = two_blocks();
    measured.tokens = 1;
    measured.bypass_losses = {0.3, 0.1};
    EXPECT_DOUBLE_EQ(figures_of(measured, {{0, "q_proj", 1}}).leakage, 0.75 * 0.5 + 0.25);
    EXPECT_EQ(plan_for_offload(measured, 0.9), (Plan{{0, "q_proj", 2}}));
    // A block without which the text is predicted better has nothing to protect.
    measured.bypass_losses = {-0.5, 0.1};
    EXPECT_EQ(figures_of(measured, {{0, "q_proj", 3}}).leakage, 1);
    EXPECT_EQ(plan_for_offload(measured, 0), (Plan{{1, "q_proj", 3}}));
}

TEST(Planning, DECO_12_targets_that_no_plan_meets_are_refused) {
    CheckpointMeasurements measured = two_blocks();
    const auto says = [](const std::function<void()>& action, const std::string& words) {
        const std::string message = refusal(action);
        EXPECT_NE(message.find(words), std::string::npos) << message;
    };
    says([&] { plan_for_offload(measured, 1); }, "David would hold the whole model");
    says([&] { plan_for_leakage(measured, 1); }, "David would hold the whole model");
    says([&] { plan_for_offload(measured, 1.5); }, "offload 1.5");
    says([&] { plan_for_offload(measured, std::nan("")); }, "from 0 to 1");
    says([&] { plan_for_leakage(measured, -1); }, "leakage -1");
    says([&] { plan_for_leakage(measured, 0.1); }, "the least is 0.125");
    says([&] { figures_of(measured, {{std::nullopt, "lm_head", 1}}); }, "[null, \"lm_head\"]");
    says([&] { figures_of(measured, {{2, "q_proj", 1}}); }, "[2, \"q_proj\"]");
    says([&] { figures_of(measured, {{0, "q_proj", 1}, {0, "q_proj", 1}}); }, "twice");
    measured.bypass_losses = {0.1};
    says([&] { plan_for_offload(measured, 0.5); }, "block 1");
    measured.bypass_losses = {0, -1};
    says([&] { plan_for_offload(measured, 0.5); }, "does not rise");
    for (MeasuredMatrix& matrix : measured.matrices) matrix.squared_singular_values = {0, 0};
    measured.bypass_losses = {};
    says([&] { plan_for_offload(measured, 0.5); }, "is zero");
}

}  // namespace
}  // namespace slip::testing
