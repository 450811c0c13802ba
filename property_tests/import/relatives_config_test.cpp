// config.json of LLaMA's relatives: what each family's fields mean, and what is refused by name.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "optimized/import/config.hpp"
#include "property_tests/generators/refusal.hpp"

namespace slip::importing {
namespace {

using base::ModelConfig;
using Kind = base::RopeScaling::Kind;
using nlohmann::json;
using slip::testing::refusal;
using Windows = std::vector<std::size_t>;

ModelConfig parse(const json& config) { return parse_config(config.dump(), "DIR/config.json"); }

/// A file with four layers and `more` fields.
json file_of(const char* model_type, const json& more = json::object()) {
    json config{
        {"model_type", model_type},       {"hidden_size", 64},        {"intermediate_size", 96},
        {"num_hidden_layers", 4},         {"num_attention_heads", 4}, {"num_key_value_heads", 2},
        {"max_position_embeddings", 512}, {"rms_norm_eps", 1e-6},     {"vocab_size", 288}};
    config.update(more);
    return config;
}

ModelConfig parsed(const char* model_type, const json& more = json::object()) {
    return parse(file_of(model_type, more));
}

TEST(RelativesConfig, MODEL_13_defaults_of_absent_fields) {
    EXPECT_EQ(parsed("mistral").windows, Windows(4, 4096));
    EXPECT_EQ(parsed("mistral", {{"sliding_window", nullptr}}).windows, Windows());
    EXPECT_EQ(parsed("phi3").windows, Windows());
    EXPECT_EQ(parsed("qwen3").head_dim, 128u);
    EXPECT_EQ(parsed("gemma2").head_dim, 256u);
    EXPECT_EQ(parsed("qwen2").head_dim, 16u);
    EXPECT_EQ(parsed("phi3").head_dim, 16u);
    for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "phi3"}) {
        EXPECT_FALSE(parsed(type).tie_word_embeddings) << type;
    }
    EXPECT_TRUE(parsed("gemma2").tie_word_embeddings);
    EXPECT_TRUE(parsed("gemma3_text").tie_word_embeddings);
    EXPECT_EQ(parsed("gemma2").score_cap, 50.0);
    EXPECT_EQ(parsed("gemma2").logit_cap, 30.0);
    EXPECT_EQ(parsed("gemma2").query_scalar, 256.0);
    EXPECT_EQ(parsed("gemma2").embedding_scale, 8.0);
    EXPECT_EQ(parsed("gemma2", {{"attn_logit_softcapping", nullptr}}).score_cap, std::nullopt);
    EXPECT_EQ(parsed("gemma3_text", {{"attn_logit_softcapping", 4}}).score_cap, std::nullopt);
    EXPECT_EQ(parsed("gemma3_text").logit_cap, std::nullopt);
    EXPECT_EQ(parsed("gemma3_text", {{"final_logit_softcapping", 4}}).logit_cap, 4.0);
    EXPECT_EQ(parsed("gemma3_text").rope.theta, 1e6);
    ASSERT_TRUE(parsed("gemma3_text").window_rope.has_value());
    EXPECT_EQ(parsed("gemma3_text").window_rope->theta, 1e4);
}

TEST(RelativesConfig, MODEL_13_which_blocks_have_a_window) {
    EXPECT_EQ(parsed("llama", {{"sliding_window", 8}}).windows, Windows());
    EXPECT_EQ(parsed("phi3", {{"sliding_window", 8}}).windows, Windows(4, 8));
    const json used{{"sliding_window", 8}, {"use_sliding_window", true}, {"max_window_layers", 3}};
    for (const char* type : {"qwen2", "qwen3"}) {
        EXPECT_EQ(parsed(type, {{"sliding_window", 8}, {"max_window_layers", 3}}).windows,
                  Windows());
        EXPECT_EQ(parsed(type, used).windows, Windows({0, 0, 0, 8}));
    }
    json typed = used;
    typed["layer_types"] = {"sliding_attention", "full_attention", "full_attention",
                            "full_attention"};
    EXPECT_EQ(parsed("qwen2", typed).windows, Windows({8, 0, 0, 0}));
    EXPECT_EQ(parsed("gemma2", {{"sliding_window", 8}}).windows, Windows({8, 0, 8, 0}));
    EXPECT_EQ(parsed("gemma3_text", {{"sliding_window", 8}}).windows, Windows(4, 8));
    EXPECT_EQ(parsed("gemma3_text", {{"sliding_window", 8}, {"sliding_window_pattern", 3}}).windows,
              Windows({8, 8, 0, 8}));
    typed = {{"sliding_window", 8},
             {"layer_types",
              {"full_attention", "sliding_attention", "sliding_attention", "full_attention"}}};
    EXPECT_EQ(parsed("gemma3_text", typed).windows, Windows({0, 8, 8, 0}));
}

json longrope(const json& more = json::object()) {
    json rope{{"type", "longrope"},
              {"short_factor", json::array({1, 1, 1, 1, 1, 1, 1, 1})},
              {"long_factor", json::array({2, 2, 2, 2, 2, 2, 2, 2})}};
    rope.update(more);
    return {{"rope_scaling", rope}, {"original_max_position_embeddings", 16}};
}

TEST(RelativesConfig, MODEL_14_kinds_of_RoPE) {
    EXPECT_EQ(parsed("qwen2", {{"rope_scaling", {{"type", "linear"}, {"factor", 4}}}})
                  .rope.scaling.factor,
              4.0);
    const base::RopeScaling scaling = parsed("phi3", longrope()).rope.scaling;
    EXPECT_EQ(scaling.kind, Kind::longrope);
    EXPECT_EQ(scaling.original_positions, 16u);
    EXPECT_EQ(scaling.long_factors, std::vector<double>(8, 2));
    // sqrt(1 + ln 32 / ln 16)
    EXPECT_NEAR(scaling.attention_factor, 1.5, 1e-12);
    EXPECT_EQ(parsed("phi3", longrope({{"type", "su"}})), parsed("phi3", longrope()));
    EXPECT_EQ(parsed("phi3", longrope({{"attention_factor", 3}})).rope.scaling.attention_factor,
              3.0);
    json short_model = longrope();
    short_model["original_max_position_embeddings"] = 512;
    EXPECT_EQ(parsed("phi3", short_model).rope.scaling.attention_factor, 1.0);
}

/// A family, further fields of its configuration, and the field that the refusal names.
using ConfigRefusals = std::vector<std::tuple<const char*, json, const char*>>;

void expect_config_refused(const ConfigRefusals& cases) {
    for (const auto& [type, more, field] : cases) {
        SCOPED_TRACE(std::string(type) + " " + more.dump());
        const std::string message = refusal([&, &type = type, &more = more] {
            parse(file_of(type, more.is_null() ? json::object() : more));
        });
        EXPECT_NE(message.find("DIR/config.json"), std::string::npos) << message;
        EXPECT_NE(message.find("\"" + std::string(field) + "\""), std::string::npos) << message;
    }
}

TEST(RelativesConfig, MODEL_10_what_no_graph_computes_is_refused_by_name) {
    expect_config_refused({
        {"gemma3", {}, "model_type"},
        {"mistral", {{"hidden_act", "gelu"}}, "hidden_act"},
        {"mistral", {{"attention_bias", true}}, "attention_bias"},
        {"qwen3", {{"attention_bias", true}}, "attention_bias"},
        {"phi3", {{"lm_head_bias", true}}, "lm_head_bias"},
        {"phi3", {{"full_attn_mod", 2}}, "full_attn_mod"},
        {"phi3", {{"interpolate_factor", 2}}, "interpolate_factor"},
        {"llama", {{"rope_interleaved", true}}, "rope_interleaved"},
        {"qwen2", {{"use_mrope", true}}, "use_mrope"},
        {"gemma3_text", {{"use_bidirectional_attention", true}}, "use_bidirectional_attention"},
        {"gemma2", {{"hidden_activation", "silu"}}, "hidden_activation"},
        {"gemma2", {{"query_pre_attn_scalar", 0}}, "query_pre_attn_scalar"},
        {"gemma2", {{"attn_logit_softcapping", -1}}, "attn_logit_softcapping"},
        {"gemma2", {{"sliding_window", nullptr}}, "sliding_window"},
        {"mistral", {{"sliding_window", 0}}, "sliding_window"},
        {"gemma3_text", {{"sliding_window_pattern", 0}}, "sliding_window_pattern"},
        {"qwen2", {{"use_sliding_window", true}, {"sliding_window", 8}}, "max_window_layers"},
        {"qwen2", {{"layer_types", {"full_attention"}}}, "layer_types"},
        {"qwen2",
         {{"layer_types",
           {"full_attention", "chunked_attention", "full_attention", "full_attention"}}},
         "layer_types"},
        {"mistral",
         {{"sliding_window", 8},
          {"layer_types",
           {"sliding_attention", "full_attention", "sliding_attention", "sliding_attention"}}},
         "layer_types"},
    });
}

TEST(RelativesConfig, MODEL_14_rotary_positions_that_no_graph_computes_are_refused_by_name) {
    const auto rope = [](const json& fields) { return json{{"rope_scaling", fields}}; };
    const json llama3{{"rope_type", "llama3"},
                      {"factor", 8},
                      {"low_freq_factor", 1},
                      {"high_freq_factor", 4},
                      {"original_max_position_embeddings", 48}};
    const auto changed = [&](const char* field, const json& value) {
        json fields = llama3;
        fields[field] = value;
        return rope(fields);
    };
    expect_config_refused({
        {"qwen3", rope({{"rope_type", "yarn"}, {"factor", 4}}), "rope_type"},
        {"qwen3", rope({{"rope_type", "dynamic"}, {"factor", 4}}), "rope_type"},
        {"llama", longrope(), "type"},
        {"phi3", rope(llama3), "rope_type"},
        {"llama", rope({{"rope_type", "linear"}, {"type", "default"}, {"factor", 4}}), "type"},
        {"llama", rope({{"rope_type", "linear"}}), "factor"},
        {"llama", changed("factor", 0), "factor"},
        {"llama", changed("high_freq_factor", 1), "high_freq_factor"},
        {"llama", changed("original_max_position_embeddings", 0),
         "original_max_position_embeddings"},
        {"llama", changed("beta_fast", 1), "beta_fast"},
        {"llama",
         {{"rope_scaling", llama3}, {"rope_parameters", {{"rope_type", "default"}}}},
         "rope_scaling"},
        {"llama", {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}}, "partial_rotary_factor"},
        {"phi3", longrope({{"factor", 32}}), "factor"},
        {"phi3", longrope({{"short_mscale", 1.1}}), "short_mscale"},
        {"phi3", longrope({{"short_factor", {1, 1}}}), "short_factor"},
        {"phi3", longrope({{"long_factor", {1, 1, 1, 1, 1, 1, 1, 0}}}), "long_factor"},
        {"phi3", longrope({{"original_max_position_embeddings", 17}}),
         "original_max_position_embeddings"},
        {"gemma3_text", {{"rope_parameters", {{"rope_theta", 1e4}}}}, "full_attention"},
    });
}

}  // namespace
}  // namespace slip::importing
