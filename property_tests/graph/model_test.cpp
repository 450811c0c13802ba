// Language models in float: against a plain forward in binary64, and published values that are not
// ours.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/generate.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/tokenizer.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/graph/model_oracle.hpp"

namespace slip::testing {
namespace {

using namespace engines;
using namespace graph;

/// In both orders of attention, which differ in roundings only (ATTN-6).
void expect_logits_of_the_oracle(SyntheticModel model, std::uint64_t seed, std::size_t tokens = 9) {
    for (const Attention order : {Attention::fused, Attention::paper}) {
        model.config.attention = order;
        const auto graph = make_graph(model.config, model.lookup());
        FloatEngine engine(groups_of(model.config), model.lookup());
        const auto ids = random_ids(seed, tokens, model.config.vocab_size);

        const auto logits = logits_in_calls(*graph, engine, ids, 4);

        const auto expected = oracle::logits(model, ids);
        for (std::size_t t = 0; t < ids.size(); ++t) {
            for (std::size_t v = 0; v < model.config.vocab_size; ++v) {
                const double found = double{logits[t * model.config.vocab_size + v]};
                // A norm of few, nearly equal elements magnifies what binary32 rounds off.
                RC_ASSERT(std::abs(found - expected[t][v]) < 1e-3 * (1 + std::abs(expected[t][v])));
            }
        }
    }
}

RC_GTEST_PROP(Model, MODEL_2_ATTN_6_float_engine_equals_a_plain_forward_in_double,
              (std::uint64_t seed)) {
    expect_logits_of_the_oracle(random_llama(seed), seed);
}

RC_GTEST_PROP(Model, MODEL_8_ATTN_6_float_engine_equals_a_plain_forward_in_double,
              (std::uint64_t seed)) {
    expect_logits_of_the_oracle(random_gpt2(seed), seed);
}

RC_GTEST_PROP(Model, MODEL_8_ATTN_6_c_attn_in_three_parts_is_the_same_model, (std::uint64_t seed)) {
    SyntheticModel model = random_gpt2(seed);
    model.config.separate_query_key_value = true;
    expect_logits_of_the_oracle(model, seed);
}

RC_GTEST_PROP(Model, MODEL_9_ATTN_6_float_engine_equals_a_plain_forward_in_double,
              (std::uint64_t seed)) {
    expect_logits_of_the_oracle(random_phi(seed), seed);
}

/// The smallest models with more positions; GPT-2's are a tensor.
TEST(Model, MODEL_2_MODEL_8_MODEL_9_positions_beyond_1023_are_like_those_before) {
    auto draws = draws_from(3);
    draws.between = [](std::size_t least, std::size_t) { return least; };
    for (SyntheticModel model : {draw_llama(draws), draw_gpt2(draws), draw_phi(draws)}) {
        base::ModelConfig& config = model.config;
        config.max_position_embeddings = 1040;
        if (config.family == base::Family::gpt2) {
            const std::string name = "transformer.wpe.weight";
            std::vector<float>& values = model.tensors[name];
            values.resize(config.max_position_embeddings * config.hidden_size);
            std::mt19937_64 bits(3);
            std::normal_distribution<float> normal(0.0F, 0.5F);
            for (float& value : values) value = normal(bits);
            model.shapes[name] = {config.max_position_embeddings, config.hidden_size};
        }
        expect_logits_of_the_oracle(model, 3, config.max_position_embeddings);
    }
}

/// Windows within a part of the cache, of more than one part, and none.
TEST(Model, MODEL_13_MODEL_16_windows_see_what_they_should_after_parts_of_the_cache_were_dropped) {
    auto draws = draws_from(3);
    draws.between = [](std::size_t least, std::size_t most) { return std::min(least + 2, most); };
    SyntheticModel model = draw_llama(draws);
    ASSERT_EQ(model.config.num_hidden_layers, 3U);
    model.config.max_position_embeddings = 500;
    model.config.windows = {7, 0, 150};
    expect_logits_of_the_oracle(model, 3, model.config.max_position_embeddings);
}

/// One key and value head for six query heads.
TEST(Model, ATTN_6_ATTN_8_many_query_heads_share_a_value_matrix) {
    auto draws = draws_from(4);
    draws.between = [](std::size_t, std::size_t most) { return most; };
    SyntheticModel model = draw_llama(draws);
    ASSERT_EQ(model.config.num_attention_heads, 6U);
    ASSERT_EQ(model.config.num_key_value_heads, 2U);
    // The two key heads become one.
    model.config.num_key_value_heads = 1;
    for (const base::GroupShape& group : groups_of(model.config)) {
        for (const base::MemberShape& member : group.members) {
            const std::string name = member.tensor + ".weight";
            model.shapes[name][0] = member.m;
            model.tensors[name].resize(member.m * group.n);
        }
    }
    expect_logits_of_the_oracle(model, 4);
}

RC_GTEST_PROP(Model, MODEL_5_how_a_sequence_is_cut_into_calls_changes_no_bit,
              (std::uint64_t seed)) {
    const SyntheticModel model = random_model(seed);
    const auto graph = make_graph(model.config, model.lookup());
    FloatEngine engine(groups_of(model.config), model.lookup());
    const auto ids = random_ids(seed, 11, model.config.vocab_size);
    const auto one_by_one = bits_of(logits_in_calls(*graph, engine, ids, 1));
    for (const std::size_t tokens_per_call : {2U, 3U, 11U}) {
        RC_ASSERT(bits_of(logits_in_calls(*graph, engine, ids, tokens_per_call)) == one_by_one);
    }
}

// --- published models

/// A model of the shared data, or a skipped test.
class Published : public ::testing::TestWithParam<const char*> {
protected:
    void open(const char* name) {
        folder_ = std::filesystem::path(SLIP_SHARED_DIR) / "data/models" / name;
        if (!std::filesystem::exists(folder_)) {
            GTEST_SKIP() << "the published model is absent: " << folder_;
        }
        checkpoint_ = std::make_unique<importing::Checkpoint>(folder_);
        graph_ = make_graph(checkpoint_->config(), lookup());
    }
    nlohmann::json read_json(const char* name) const {
        return nlohmann::json::parse(std::ifstream(folder_ / name));
    }
    ParameterLookup lookup() const {
        return [this](std::string_view name, std::size_t elements) {
            return checkpoint_->floats(name, elements);
        };
    }
    FloatEngine engine() const { return FloatEngine(groups_of(checkpoint_->config()), lookup()); }

    std::filesystem::path folder_;
    std::unique_ptr<importing::Checkpoint> checkpoint_;
    std::unique_ptr<Transformer> graph_;
};

class EveryFamily : public Published {};

TEST_P(EveryFamily, MODEL_4_float_logits_are_the_published_ones_within_1e_4) {
    open(GetParam());
    if (IsSkipped()) return;
    FloatEngine in_float = engine();
    const nlohmann::json golden = read_json("golden_logits.json");
    const std::vector<TokenId> ids = golden["ids"];

    const std::vector<float> logits = logits_in_calls(*graph_, in_float, ids, ids.size());

    std::size_t at = 0;
    for (const auto& row : golden["logits"]) {
        for (const double expected : row) EXPECT_NEAR(logits[at++], expected, 1e-4);
    }
    EXPECT_EQ(at, logits.size());
}

INSTANTIATE_TEST_SUITE_P(Models, EveryFamily,
                         ::testing::Values("stories260K", "gpt-nano-sort", "phi-synthetic"),
                         [](const auto& model) {
                             std::string name = model.param;
                             std::replace(name.begin(), name.end(), '-', '_');
                             return name;
                         });

class Stories260K : public Published {
protected:
    void SetUp() override { open("stories260K"); }
};

TEST_F(Stories260K, MODEL_4_greedy_ids_and_text_are_the_published_ones) {
    FloatEngine in_float = engine();
    const nlohmann::json golden = read_json("greedy_ids.json");
    const std::vector<TokenId> prompt = golden["prompt_ids"];
    const std::vector<TokenId> expected = golden["greedy_ids"];
    SamplingOptions options;
    options.max_tokens = expected.size();

    const std::vector<TokenId> ids = generate(*graph_, in_float, prompt, options, {});

    EXPECT_EQ(ids, expected);
    EXPECT_EQ(importing::open_tokenizer(folder_)->decode(ids),
              base::read_file(folder_ / "greedy_200.txt"));
}

}  // namespace
}  // namespace slip::testing
