// spec/model.md: one graph on three engines; and LIN-2 to LIN-4 for whole models.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "optimized/engines/engines.hpp"
#include "optimized/graph/generate.hpp"
#include "optimized/graph/operations.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/tokenizer.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/generators/profiles.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/graph/model_oracle.hpp"
#include "reference/encoding.hpp"
#include "reference/linear.hpp"

namespace slip::testing {
namespace {

namespace ref = reference;

using Doubles = std::vector<double>;

/// Applies one group to `input` and returns the members' outputs.
std::vector<std::vector<float>> apply_group(Engine& engine, const CharlieGroup& group, GroupId id,
                                            MatrixView<const float> input) {
    std::vector<std::vector<float>> outputs;
    std::vector<MatrixView<float>> views;
    for (const CharlieMember& member : group.members) {
        outputs.emplace_back(input.rows() * member.shape.m, -1.0F);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        views.emplace_back(outputs[i].data(), input.rows(), group.members[i].shape.m);
    }
    engine.apply(id, input, views);
    return outputs;
}

// ---------------------------------------------------------------------------------------------
// The graph.
// ---------------------------------------------------------------------------------------------

/// Its width, then its matrices' names and rows.
std::string describe(const GroupShape& group) {
    std::string text = std::to_string(group.n) + ":";
    for (const MemberShape& member : group.members) {
        text += " " + member.tensor + " " + std::to_string(member.m);
    }
    return text;
}

TEST(Model, MODEL_2_groups_share_an_input) {
    ModelConfig config;
    config.hidden_size = 64;
    config.intermediate_size = 172;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 8;
    config.num_key_value_heads = 4;
    config.head_dim = 8;
    config.vocab_size = 512;
    config.tie_word_embeddings = true;
    std::vector<std::string> found;
    for (const GroupShape& group : groups_of(config)) found.push_back(describe(group));

    std::vector<std::string> expected;
    for (const std::string block : {"model.layers.0.", "model.layers.1."}) {
        expected.push_back("64: " + block + "self_attn.q_proj 64 " + block +
                           "self_attn.k_proj 32 " + block + "self_attn.v_proj 32");
        expected.push_back("64: " + block + "self_attn.o_proj 64");
        expected.push_back("64: " + block + "mlp.gate_proj 172 " + block + "mlp.up_proj 172");
        expected.push_back("172: " + block + "mlp.down_proj 64");
    }
    expected.push_back("64: model.embed_tokens 512");
    EXPECT_EQ(found, expected);

    config.tie_word_embeddings = false;
    EXPECT_EQ(describe(groups_of(config).back()), "64: lm_head 512");
    EXPECT_EQ(groups_of(config).back().members[0].layer_type, "lm_head");
    EXPECT_FALSE(groups_of(config).back().members[0].block.has_value());
}

/// The names that plans use, group by group.
std::vector<std::vector<std::string>> layer_types(const std::vector<GroupShape>& groups) {
    std::vector<std::vector<std::string>> types;
    for (const GroupShape& group : groups) {
        auto& members = types.emplace_back();
        for (const MemberShape& member : group.members) members.push_back(member.layer_type);
    }
    return types;
}

TEST(Model, MODEL_8_groups_of_GPT_2) {
    ModelConfig config;
    config.family = Family::gpt2;
    config.hidden_size = 48;
    config.intermediate_size = 192;
    config.num_hidden_layers = 1;
    config.vocab_size = 3;
    const auto groups = groups_of(config);
    ASSERT_EQ(groups.size(), 5U);
    EXPECT_EQ(describe(groups[0]), "48: transformer.h.0.attn.c_attn 144");
    EXPECT_EQ(describe(groups[1]), "48: transformer.h.0.attn.c_proj 48");
    EXPECT_EQ(describe(groups[2]), "48: transformer.h.0.mlp.c_fc 192");
    EXPECT_EQ(describe(groups[3]), "192: transformer.h.0.mlp.c_proj 48");
    EXPECT_EQ(describe(groups[4]), "48: lm_head 3");
    const std::vector<std::vector<std::string>> types{
        {"c_attn"}, {"attn.c_proj"}, {"c_fc"}, {"mlp.c_proj"}, {"lm_head"}};
    EXPECT_EQ(layer_types(groups), types);
    EXPECT_EQ(groups[3].members[0].block, 0U);

    config.tie_word_embeddings = true;
    EXPECT_EQ(describe(groups_of(config).back()), "48: transformer.wte 3");
    EXPECT_EQ(layer_types(groups_of(config)), types);
}

TEST(Model, MODEL_9_groups_of_Phi_2) {
    ModelConfig config;
    config.family = Family::phi;
    config.hidden_size = 80;
    config.intermediate_size = 320;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.head_dim = 20;
    config.vocab_size = 256;
    const auto groups = groups_of(config);
    ASSERT_EQ(groups.size(), 7U);
    const std::string block = "model.layers.1.";
    EXPECT_EQ(describe(groups[3]), "80: " + block + "self_attn.q_proj 80 " + block +
                                       "self_attn.k_proj 40 " + block + "self_attn.v_proj 40 " +
                                       block + "mlp.fc1 320");
    EXPECT_EQ(describe(groups[4]), "80: " + block + "self_attn.dense 80");
    EXPECT_EQ(describe(groups[5]), "320: " + block + "mlp.fc2 80");
    EXPECT_EQ(describe(groups[6]), "80: lm_head 256");
    const std::vector<std::vector<std::string>> types{
        {"q_proj", "k_proj", "v_proj", "fc1"}, {"dense"}, {"fc2"}, {"lm_head"}};
    EXPECT_EQ(layer_types({groups.begin() + 3, groups.end()}), types);
}

/// In both orders of attention, which differ in roundings only (ATTN-6).
void expect_logits_of_the_oracle(SyntheticModel model, std::uint64_t seed) {
    for (const Attention order : {Attention::fused, Attention::paper}) {
        model.config.attention = order;
        const auto graph = make_graph(model.config, model.lookup());
        FloatEngine engine(groups_of(model.config), model.lookup());
        const auto ids = random_ids(seed, 9, model.config.vocab_size);

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

RC_GTEST_PROP(Model, MODEL_9_ATTN_6_float_engine_equals_a_plain_forward_in_double,
              (std::uint64_t seed)) {
    expect_logits_of_the_oracle(random_phi(seed), seed);
}

TEST(Model, ATTN_8_groups_of_the_papers_order) {
    ModelConfig config;
    config.attention = Attention::paper;
    config.hidden_size = 80;
    config.intermediate_size = 320;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.num_key_value_heads = 2;
    config.head_dim = 20;
    config.vocab_size = 256;
    using Types = std::vector<std::vector<std::string>>;
    const auto one_block = [&](Family family) {
        config.family = family;
        const auto groups = groups_of(config);
        return layer_types(
            {groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(groups.size() / 2)});
    };
    EXPECT_EQ(one_block(Family::llama), (Types{{"q_proj"},
                                               {"k_proj"},
                                               {"v_proj"},
                                               {"v_proj"},
                                               {"o_proj"},
                                               {"gate_proj", "up_proj"},
                                               {"down_proj"}}));
    const auto groups = groups_of(config);
    for (const std::size_t head : {0U, 1U}) {  // the rows of a head
        const MemberShape& member = groups[2 + head].members[0];
        EXPECT_EQ(member.m, 20U);
        EXPECT_EQ(member.first_row, 20 * head);
        EXPECT_EQ(member.tensor_rows, 40U);
    }
    EXPECT_EQ(one_block(Family::phi),
              (Types{{"q_proj"}, {"k_proj"}, {"v_proj"}, {"v_proj"}, {"dense"}, {"fc1"}, {"fc2"}}));
    config.num_attention_heads = config.num_key_value_heads = 4;
    EXPECT_EQ(one_block(Family::gpt2), (Types{{"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"c_attn"},
                                              {"attn.c_proj"},
                                              {"c_fc"},
                                              {"mlp.c_proj"}}));
    EXPECT_EQ(groups_of(config)[5].members[0].first_row, 160U + 3 * 20);
    EXPECT_EQ(groups_of(config)[5].members[0].tensor_rows, 240U);
}

// ---------------------------------------------------------------------------------------------
// A published model: expected values that are not ours.
// ---------------------------------------------------------------------------------------------

/// A model of the shared data, or a skipped test.
class Published : public ::testing::TestWithParam<const char*> {
protected:
    void open(const char* name) {
        directory_ = std::filesystem::path(SLIP_SHARED_DIR) / "data/models" / name;
        if (!std::filesystem::exists(directory_)) {
            GTEST_SKIP() << "the published model is absent: " << directory_;
        }
        checkpoint_ = std::make_unique<Checkpoint>(directory_);
        graph_ = make_graph(checkpoint_->config(), lookup());
    }
    nlohmann::json read_json(const char* name) const {
        return nlohmann::json::parse(std::ifstream(directory_ / name));
    }
    ParameterLookup lookup() const {
        return [this](std::string_view name, std::size_t elements) {
            return checkpoint_->floats(name, elements);
        };
    }
    FloatEngine engine() const { return FloatEngine(groups_of(checkpoint_->config()), lookup()); }

    std::filesystem::path directory_;
    std::unique_ptr<Checkpoint> checkpoint_;
    std::unique_ptr<LanguageModel> graph_;
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
    EXPECT_EQ(open_tokenizer(directory_)->decode(ids), read_file(directory_ / "greedy_200.txt"));
}

// ---------------------------------------------------------------------------------------------
// Floats.
// ---------------------------------------------------------------------------------------------

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

RC_GTEST_PROP(Model, MODEL_5_dot_adds_in_eight_lanes, (std::uint64_t seed)) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<float> normal;
    std::vector<float> a(bits() % 70);
    std::vector<float> b(a.size());
    for (float& value : a) value = normal(bits);
    for (float& value : b) value = normal(bits);
    std::array<float, 8> lanes{};
    for (std::size_t j = 0; j < a.size(); ++j) {
        const float term = a[j] * b[j];
        lanes[j % 8] += term;
    }
    float expected = lanes[0] + lanes[4];
    for (std::size_t l = 1; l < 4; ++l) expected += lanes[l] + lanes[l + 4];
    RC_ASSERT(std::bit_cast<std::uint32_t>(dot(a, b)) == std::bit_cast<std::uint32_t>(expected));
}

TEST(Model, MODEL_5_exponential_is_accurate_and_saturates) {
    double largest_error = 0;
    for (float x = -87.0F; x <= 87.0F; x += 0.0009765625F) {
        const double exact = std::exp(double{x});
        largest_error = std::max(largest_error, std::abs(double{exponential(x)} / exact - 1));
    }
    EXPECT_LT(largest_error, std::ldexp(1.0, -22));
    EXPECT_EQ(exponential(0), 1.0F);
    EXPECT_EQ(exponential(-1000), exponential(-87));
    EXPECT_EQ(exponential(1000), exponential(87));
    EXPECT_EQ(exponential(-INFINITY), exponential(-87));
    EXPECT_TRUE(std::isnan(exponential(NAN)));
}

TEST(Model, MODEL_8_gelu_is_the_tanh_form) {
    std::vector<float> x;
    for (float value = -12.0F; value <= 12.0F; value += 0.001953125F) x.push_back(value);
    std::vector<float> y = x;
    gelu(y);
    for (std::size_t j = 0; j < x.size(); ++j) {
        const double v = double{x[j]};
        const double u = std::sqrt(2.0 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
        EXPECT_NEAR(double{y[j]}, v / 2 * (1 + std::tanh(u)), 1e-6 * (1 + std::abs(v)));
    }
    std::vector<float> extremes{0.0F, 3e38F, -3e38F, NAN};
    gelu(extremes);
    EXPECT_EQ(extremes[0], 0.0F);
    EXPECT_EQ(extremes[1], 3e38F);
    EXPECT_NEAR(extremes[2], 0.0F, 10.0F);  // -3e38 exp(-87)
    EXPECT_TRUE(std::isnan(extremes[3]));
}

RC_GTEST_PROP(Model, MODEL_8_layer_norm_of_every_row, (std::uint64_t seed)) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<float> normal;
    const std::size_t n = 1 + bits() % 70;
    std::vector<float> x(3 * n);
    LayerNorm parameters{std::vector<float>(n), std::vector<float>(n)};
    for (auto* values : {&x, &parameters.weight, &parameters.bias}) {
        for (float& value : *values) value = 2 + normal(bits);
    }
    std::fill_n(x.begin(), n, 0.25F);  // no variance
    std::vector<float> y(3 * n);

    layer_norm({x.data(), 3, n}, parameters, 1e-5F, {y.data(), 3, n});

    for (std::size_t t = 0; t < 3; ++t) {
        const Doubles row(x.begin() + static_cast<std::ptrdiff_t>(t * n),
                          x.begin() + static_cast<std::ptrdiff_t>((t + 1) * n));
        const Doubles expected = oracle::layer_norm(row, parameters.weight, parameters.bias, 1e-5);
        for (std::size_t j = 0; j < n; ++j) {
            RC_ASSERT(std::abs(double{y[t * n + j]} - expected[j]) < 1e-4);
        }
    }
}

TEST(Model, MODEL_5_softmax_of_extremes_is_finite) {
    std::vector<float> scores{3e38F, -3e38F, 0.0F};
    softmax(scores);
    EXPECT_FLOAT_EQ(scores[0], 1.0F);
    EXPECT_NEAR(scores[1], 0.0F, 1e-30);
    std::vector<float> one{-5.0F};
    softmax(one);
    EXPECT_EQ(one[0], 1.0F);
}

// ---------------------------------------------------------------------------------------------
// The integer engines.
// ---------------------------------------------------------------------------------------------

PROFILE_PROP(Model, LIN_4_hybrid_logits_equal_unsplit_logits_bit_for_bit) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const SyntheticModel model = random_model(seed);
    const std::size_t rank = *rc::gen::element<std::size_t>(0, 1, 2, 7, 1000);
    const SplitLlama split(model, plan_for_all(model.config, rank), profile_of<P>);
    const auto ids = random_ids(seed, 8, model.config.vocab_size);
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);

    const auto found = logits_in_calls(split.graph, hybrid.engine, ids, 5);

    RC_ASSERT(bits_of(found) == bits_of(logits_in_calls(split.graph, unsplit, ids, 5)));
    // MODEL-5: nor does it matter how the tokens are batched.
    RC_ASSERT(bits_of(found) == bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)));
}

/// Inputs of one token: zeros, one-hot, extremes, random.
std::vector<float> input_of_kind(int kind, std::size_t n, std::mt19937_64& bits) {
    std::vector<float> x(n, 0.0F);
    std::normal_distribution<float> normal;
    if (kind == 1) x[bits() % n] = -2.5F;
    if (kind == 2) {
        for (float& value : x) value = bits() % 2 == 0 ? 3.0e38F : -3.0e38F;
    }
    if (kind == 3) {
        for (float& value : x) value = normal(bits);
    }
    return x;
}

ref::Matrix to_reference(const auto& view) {
    ref::Matrix matrix(view.rows(), view.cols());
    for (std::size_t i = 0; i < view.rows(); ++i) {
        for (std::size_t j = 0; j < view.cols(); ++j) matrix(i, j) = view.row(i)[j];
    }
    return matrix;
}

PROFILE_PROP(Model, LIN_2_LIN_3_hybrid_equals_the_integer_model_over_Z) {
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const SyntheticModel model = random_model(seed);
    const SplitLlama split(model, plan_for_all(model.config, seed % 6), profile_of<P>);
    HybridRun hybrid(split);
    const GroupId id = static_cast<GroupId>(seed % split.charlie.groups().size());
    const CharlieGroup& group = split.charlie.groups()[id];
    std::mt19937_64 bits(seed);
    std::vector<float> input;
    for (const int kind : {0, 1, 2, 3}) {
        const auto token = input_of_kind(kind, group.n, bits);
        input.insert(input.end(), token.begin(), token.end());
    }

    const MatrixView<const float> tokens(input.data(), 4, group.n);
    const auto outputs = apply_group(hybrid.engine, group, id, tokens);

    std::size_t first_row = 0;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        const CharlieMember& member = group.members[i];
        const std::size_t m = member.shape.m;
        const ref::IntegerModel integers{
            to_reference(member.a),
            to_reference(member.b),
            to_reference(split.david.weights()[id].rows_from(first_row, m)),
            {member.row_scale.begin(), member.row_scale.end()}};
        for (std::size_t t = 0; t < 4; ++t) {
            const auto quantised = ref::quantise(tokens.row(t), group.qa_max);
            const auto y = ref::unsplit_output(integers, quantised.q);
            const auto expected = ref::dequantise(y, integers.row_scale, quantised.scale);
            const std::vector<float> found(
                outputs[i].begin() + static_cast<std::ptrdiff_t>(t * m),
                outputs[i].begin() + static_cast<std::ptrdiff_t>((t + 1) * m));
            RC_ASSERT(bits_of(found) == bits_of(expected));
        }
        first_row += m;
    }
}

PROFILE_TEST(Model, ATTN_1_LIN_4_hybrid_equals_unsplit_in_the_papers_order) {
    for (SyntheticModel model : {random_llama(11), random_gpt2(12), random_phi(13)}) {
        model.config.attention = Attention::paper;
        const SplitLlama split(model, plan_for_all(model.config, 2), profile_of<P>);
        EXPECT_EQ(split.charlie.config().attention, Attention::paper);
        UnsplitEngine unsplit(split.charlie, split.david);
        HybridRun hybrid(split);
        const auto ids = random_ids(11, 6, model.config.vocab_size);

        const auto expected = logits_in_calls(split.graph, unsplit, ids, 4);
        const auto found = logits_in_calls(split.graph, hybrid.engine, ids, 4);

        EXPECT_EQ(bits_of(found), bits_of(expected));
        // ATTN-3: every masked copy is a column with a mask of its own.
        std::uint64_t columns = 0;
        for (const GroupShape& group : groups_of(model.config)) {
            columns += group.columns_per_token * ids.size();
        }
        EXPECT_EQ(hybrid.engine.statistics().session.columns, columns);
    }
}

TEST(Model, LIN_4_is_sensitive_to_the_low_rank_part) {
    // The comparison would notice a wrong A: the mutant drops the last component of one row.
    const SyntheticModel model = random_llama(5);
    const SplitLlama split(model, plan_for_all(model.config, 3));
    UnsplitEngine unsplit(split.charlie, split.david);
    const CharlieGroup& group = split.charlie.groups()[0];
    std::mt19937_64 bits(5);
    const auto input = input_of_kind(3, group.n, bits);
    const auto outputs = apply_group(unsplit, group, 0, {input.data(), 1, group.n});

    const CharlieMember& member = group.members[0];
    const auto w = split.david.weights()[0].rows_from(0, member.shape.m);
    ref::IntegerModel mutant{to_reference(member.a),
                             to_reference(member.b),
                             to_reference(w),
                             {member.row_scale.begin(), member.row_scale.end()}};
    mutant.A(0, member.rank - 1) = 0;
    const auto quantised = ref::quantise(input, group.qa_max);
    const auto y = ref::unsplit_output(mutant, quantised.q);
    const auto expected = ref::dequantise(y, mutant.row_scale, quantised.scale);
    EXPECT_NE(outputs[0][0], expected[0]);
    EXPECT_EQ(outputs[0][1], expected[1]);
}

TEST(Model, ENC_1_an_activation_that_is_not_finite_is_refused_before_anything_is_sent) {
    const SyntheticModel model = random_llama(2);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    HybridRun hybrid(split);
    const std::size_t sent = hybrid.transport.record.size();
    const CharlieGroup& group = split.charlie.groups()[0];
    std::vector<float> input(2 * group.n, 1.0F);
    input.back() = NAN;
    try {
        apply_group(hybrid.engine, group, 0, {input.data(), 2, group.n});
        FAIL() << "a NaN was accepted";
    } catch (const BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("activation is not finite"), std::string::npos);
    }
    EXPECT_EQ(hybrid.transport.record.size(), sent);
    EXPECT_TRUE(hybrid.engine.alive());
}

PROFILE_TEST(Model, MODEL_1_every_product_is_masked_even_of_rank_0) {
    const SyntheticModel model = random_llama(3);
    const SplitLlama split(model, {}, profile_of<P>);  // every K is 0
    HybridRun hybrid(split);
    const auto ids = random_ids(3, 1, model.config.vocab_size);
    logits_in_calls(split.graph, hybrid.engine, ids, 1);

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), split.charlie.groups().size());
    for (GroupId group = 0; group < headers.size(); ++group) {
        EXPECT_EQ(headers[group].group, group);
        EXPECT_EQ(headers[group].columns, 1U);
    }
    // The zero token's column is its mask: uniform in Z_L, so it fits 16 bits with odds of 2^-15.
    const CharlieGroup& group = split.charlie.groups()[0];
    const std::vector<float> zeros(group.n, 0.0F);
    apply_group(hybrid.engine, group, 0, {zeros.data(), 1, group.n});
    const auto payload = std::span(hybrid.transport.record.back()).subspan(wire::length_bytes);
    const auto header = wire::decode_columns_header(wire::FrameType::apply, payload);
    Residues<P> residues(group.n);
    wire::decode_residues<P>(payload, header, group.n, std::span(residues));
    std::size_t small = 0;
    for (const auto residue : residues) small += residue < 65536 ? 1 : 0;
    EXPECT_LE(small, 1U);
}

PROFILE_TEST(Model, MODEL_3_prefill_sends_a_column_a_token_each_under_its_own_mask) {
    const SyntheticModel model = random_llama(4);
    const SplitLlama split(model, plan_for_all(model.config, 2), profile_of<P>);
    HybridRun hybrid(split);
    const std::vector<TokenId> ids(6, 3);  // equal tokens: equal columns but for their masks
    logits_in_calls(split.graph, hybrid.engine, ids, ids.size());

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), split.charlie.groups().size());
    for (const auto& header : headers) EXPECT_EQ(header.columns, ids.size());

    const std::size_t n = split.charlie.groups()[0].n;
    const auto payload = std::span(hybrid.transport.record[1]).subspan(wire::length_bytes);
    Residues<P> residues(ids.size() * n);
    wire::decode_residues<P>(payload, headers[0], n, std::span(residues));
    const MatrixView<const typename P::Residue> columns(residues.data(), ids.size(), n);
    for (std::size_t a = 0; a < ids.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
            EXPECT_FALSE(
                std::equal(columns.row(a).begin(), columns.row(a).end(), columns.row(b).begin()));
        }
    }
}

PROFILE_TEST(Model, MODEL_3_a_batch_that_outgrows_a_message_is_cut_into_several) {
    const SyntheticModel model = random_llama(6);
    const SplitLlama split(model, plan_for_all(model.config, 1), profile_of<P>);
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);
    const CharlieGroup& group = split.charlie.groups()[1];
    const std::size_t largest = hybrid.engine.max_columns_of(1);
    std::mt19937_64 bits(6);
    std::normal_distribution<float> normal;
    std::vector<float> input((largest + 3) * group.n);
    for (float& value : input) value = normal(bits);
    const MatrixView<const float> tokens(input.data(), largest + 3, group.n);

    const auto found = apply_group(hybrid.engine, group, 1, tokens);

    const auto headers = applies_in(hybrid.transport);
    ASSERT_EQ(headers.size(), 2U);
    EXPECT_EQ(headers[0].columns, largest);
    EXPECT_EQ(headers[1].columns, 3U);
    EXPECT_EQ(bits_of(found[0]), bits_of(apply_group(unsplit, group, 1, tokens)[0]));
}

TEST(Model, MODEL_6_the_online_path_does_not_read_the_offloaded_weights) {
    const SyntheticModel model = random_llama(7);
    const SplitLlama split(model, plan_for_all(model.config, 2));
    // Charlie's offline work gets a copy of W_D, which the test ruins once the masks are ready: the
    // bytes, and what the products read.
    std::vector<std::vector<std::int8_t>> copies;
    for (const auto& w : split.david.weights()) {
        copies.emplace_back(w.elements().begin(), w.elements().end());
    }
    OffloadedWeights weights;
    for (std::size_t g = 0; g < copies.size(); ++g) {
        const auto w = split.david.weights()[g];
        weights.emplace_back(copies[g].data(), w.rows(), w.cols());
    }
    SessionOptions options;
    options.pool.depth = 4;
    HybridRun hybrid(split, weights, options);
    UnsplitEngine unsplit(split.charlie, split.david);
    hybrid.engine.wait_until_ready(options.pool.depth);
    for (auto& copy : copies) std::fill(copy.begin(), copy.end(), std::int8_t{1});
    for (const WeightMatrix& w : weights) {
        const auto packed = w.packed<kernels::P31>();
        std::fill_n(const_cast<std::int8_t*>(packed.data()), packed.size(), std::int8_t{1});
    }

    const auto ids = random_ids(7, options.pool.depth, model.config.vocab_size);
    const auto expected = logits_in_calls(split.graph, unsplit, ids, 1);
    EXPECT_EQ(bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)), bits_of(expected));
    // Masks made from the ruined copy show that it was the one that the session had.
    EXPECT_NE(bits_of(logits_in_calls(split.graph, hybrid.engine, ids, 1)), bits_of(expected));
}

PROFILE_TEST(Model, INTEG_5_no_output_is_written_from_a_rejected_reply) {
    const SyntheticModel model = random_llama(8);
    const SplitLlama split(model, plan_for_all(model.config, 2), profile_of<P>);
    const auto flip = [](const wire::ColumnsHeader&, std::span<std::uint64_t> residues) {
        residues.back() ^= 1;
    };
    HybridRun hybrid(split, {}, flip);
    const CharlieGroup& group = split.charlie.groups()[0];
    const std::vector<float> input(group.n, 1.0F);
    std::vector<std::vector<float>> outputs;
    std::vector<MatrixView<float>> views;
    for (const CharlieMember& member : group.members) outputs.emplace_back(member.shape.m, 7.0F);
    for (auto& output : outputs) views.emplace_back(output.data(), 1, output.size());

    EXPECT_THROW(hybrid.engine.apply(0, {input.data(), 1, group.n}, views), IntegrityError);

    for (const auto& output : outputs) {
        EXPECT_EQ(output, std::vector<float>(output.size(), 7.0F));
    }
    EXPECT_FALSE(hybrid.engine.alive());
    EXPECT_EQ(hybrid.engine.statistics().session.checks, 0U);
    EXPECT_THROW(hybrid.engine.apply(0, {input.data(), 1, group.n}, views), ProtocolError);
}

TEST(Model, MODEL_4_engines_refuse_shapes_that_are_not_the_groups) {
    const SyntheticModel model = random_llama(9);
    const SplitLlama split(model, plan_for_all(model.config, 1));
    HybridRun hybrid(split);
    UnsplitEngine unsplit(split.charlie, split.david);
    FloatEngine in_float(groups_of(model.config), model.lookup());
    const std::size_t n = split.charlie.groups()[0].n;
    std::vector<float> input(n + 1, 1.0F);
    for (Engine* engine : std::initializer_list<Engine*>{&hybrid.engine, &unsplit, &in_float}) {
        EXPECT_THROW(engine->apply(0, {input.data(), 1, n + 1}, {}), InternalError);
        EXPECT_THROW(engine->apply(0, {input.data(), 1, n}, {}), InternalError);
        EXPECT_THROW(engine->apply(1000, {input.data(), 1, n}, {}), InternalError);
    }
}

TEST(Model, LIN_2_multiplications_are_counted_as_documented) {
    CharlieGroup group;
    group.n = 10;
    group.members.resize(2);
    group.members[0].shape.m = 3;
    group.members[0].rank = 2;
    group.members[1].shape.m = 4;
    // n + kappa (n + M) + k (n + m) + 2 M = 10 + 2 * 17 + 2 * 13 + 14.
    EXPECT_EQ(charlie_multiplications_per_column(group, Profile::p31), 84U);
    EXPECT_EQ(charlie_multiplications_per_column(group, Profile::p61), 84U - 17U) << "kappa = 1";
    EXPECT_EQ(group.product().multiplications(), 70U);
}

}  // namespace
}  // namespace slip::testing
