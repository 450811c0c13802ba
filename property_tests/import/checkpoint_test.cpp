// Configurations and checkpoint folders.
#include "optimized/import/checkpoint.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace {

using namespace slip::importing;
using nlohmann::json;
using slip::base::ModelConfig;
using slip::base::write_file;
using slip::testing::refusal;
using slip::testing::TemporaryFolder;

json llama_config() {
    return {{"model_type", "llama"},    {"hidden_size", 64},
            {"intermediate_size", 172}, {"num_hidden_layers", 5},
            {"num_attention_heads", 8}, {"vocab_size", 512},
            {"rms_norm_eps", 1e-05},    {"max_position_embeddings", 512}};
}

ModelConfig parse(const json& config) { return parse_config(config.dump(), "DIR/config.json"); }

/// The refusal must name the file and the field.
void expect_refused(const json& config, const std::string& field) {
    const std::string message = refusal([&] { parse(config); });
    EXPECT_NE(message.find("DIR/config.json"), std::string::npos) << message;
    EXPECT_NE(message.find("\"" + field + "\""), std::string::npos) << message;
}

// --- config.json ---------------------------------------------------------------------------------

TEST(Config, MODEL_2_defaults_of_the_family) {
    const ModelConfig config = parse(llama_config());
    EXPECT_EQ(config.hidden_size, 64u);
    EXPECT_EQ(config.intermediate_size, 172u);
    EXPECT_EQ(config.num_hidden_layers, 5u);
    EXPECT_EQ(config.num_attention_heads, 8u);
    EXPECT_EQ(config.num_key_value_heads, 8u);
    EXPECT_EQ(config.head_dim, 8u);
    EXPECT_EQ(config.vocab_size, 512u);
    EXPECT_EQ(config.max_position_embeddings, 512u);
    EXPECT_EQ(config.norm_eps, 1e-05f);
    EXPECT_EQ(config.rope.theta, 10000.0);
    EXPECT_FALSE(config.tie_word_embeddings);
    EXPECT_EQ(config.bos_token_id, 1);
    EXPECT_EQ(config.eos_token_id, 2);
}

TEST(Config, MODEL_2_every_field_is_read) {
    json value = llama_config();
    value.update({{"num_key_value_heads", 4},
                  {"head_dim", 16},
                  {"rope_theta", 500000},
                  {"tie_word_embeddings", true},
                  {"bos_token_id", 3},
                  {"eos_token_id", {4, 5}},
                  {"hidden_act", "silu"},
                  {"rope_scaling", nullptr},
                  {"attention_bias", false},
                  {"mlp_bias", false},
                  {"torch_dtype", "float16"}});
    const ModelConfig config = parse(value);
    EXPECT_EQ(config.num_key_value_heads, 4u);
    EXPECT_EQ(config.head_dim, 16u);
    EXPECT_EQ(config.rope.theta, 500000.0);
    EXPECT_TRUE(config.tie_word_embeddings);
    EXPECT_EQ(config.bos_token_id, 3);
    EXPECT_EQ(config.eos_token_id, 4);
    for (const slip::TokenId id : {3, 4, 5, 6}) EXPECT_EQ(config.ends_text(id), id == 4 || id == 5);
}

json gpt2_config() {
    return {{"model_type", "gpt2"}, {"n_embd", 48},      {"n_layer", 3},
            {"n_head", 3},          {"vocab_size", 300}, {"n_positions", 11}};
}

json phi_config() {
    return {{"model_type", "phi"},          {"hidden_size", 80},
            {"intermediate_size", 320},     {"num_hidden_layers", 3},
            {"num_attention_heads", 4},     {"vocab_size", 256},
            {"partial_rotary_factor", 0.4}, {"max_position_embeddings", 128}};
}

TEST(Config, MODEL_10_fields_that_do_not_change_the_model_are_ignored) {
    json value = llama_config();
    value.update({{"use_cache", true},
                  {"attention_dropout", 0.1},
                  {"head_dim", nullptr},
                  {"num_key_value_heads", nullptr},
                  {"bos_token_id", nullptr},
                  {"eos_token_id", nullptr},
                  {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 20000.0}}},
                  {"rope_scaling", {{"type", "default"}}},
                  {"quantization_config", nullptr},
                  {"partial_rotary_factor", 1.0}});
    const ModelConfig config = parse(value);
    EXPECT_EQ(config.head_dim, 8u);
    EXPECT_EQ(config.rope.theta, 20000.0);
    EXPECT_FALSE(config.bos_token_id.has_value());
    EXPECT_FALSE(config.eos_token_id.has_value());
    EXPECT_TRUE(config.starts_with_bos());
}

TEST(Config, MODEL_8_GPT_2) {
    ModelConfig config = parse(gpt2_config());
    EXPECT_EQ(config.family, slip::base::Family::gpt2);
    EXPECT_EQ(config.hidden_size, 48u);
    EXPECT_EQ(config.intermediate_size, 192u);
    EXPECT_EQ(config.num_hidden_layers, 3u);
    EXPECT_EQ(config.num_attention_heads, 3u);
    EXPECT_EQ(config.num_key_value_heads, 3u);
    EXPECT_EQ(config.head_dim, 16u);
    EXPECT_EQ(config.rotary_dim, 0u);
    EXPECT_EQ(config.vocab_size, 300u);
    EXPECT_EQ(config.max_position_embeddings, 11u);
    EXPECT_EQ(config.norm_eps, 1e-5f);
    EXPECT_TRUE(config.tie_word_embeddings);
    EXPECT_FALSE(config.bos_token_id.has_value()) << "50256 is outside the vocabulary";
    EXPECT_FALSE(config.starts_with_bos());

    json value = gpt2_config();
    value.update({{"n_inner", 100},
                  {"layer_norm_epsilon", 1e-6},
                  {"vocab_size", 50257},
                  {"tie_word_embeddings", false},
                  {"activation_function", "gelu_pytorch_tanh"},
                  {"scale_attn_weights", true},
                  {"reorder_and_upcast_attn", true},
                  {"n_ctx", 11}});
    config = parse(value);
    EXPECT_EQ(config.intermediate_size, 100u);
    EXPECT_EQ(config.norm_eps, 1e-6f);
    EXPECT_FALSE(config.tie_word_embeddings);
    EXPECT_EQ(config.bos_token_id, 50256);
    EXPECT_EQ(config.eos_token_id, 50256);
}

TEST(Config, MODEL_9_Phi_2) {
    ModelConfig config = parse(phi_config());
    EXPECT_EQ(config.family, slip::base::Family::phi);
    EXPECT_EQ(config.head_dim, 20u);
    EXPECT_EQ(config.rotary_dim, 8u);
    EXPECT_EQ(config.num_key_value_heads, 4u);
    EXPECT_EQ(config.norm_eps, 1e-5f);
    EXPECT_FALSE(config.tie_word_embeddings);
    EXPECT_FALSE(config.starts_with_bos());

    json value = phi_config();
    value.erase("partial_rotary_factor");
    EXPECT_EQ(parse(value).rotary_dim, 10u) << "half a head is the family's default";
    value["rope_parameters"] = {{"rope_type", "default"}, {"partial_rotary_factor", 0.2}};
    EXPECT_EQ(parse(value).rotary_dim, 4u);
    value["num_key_value_heads"] = 2;
    EXPECT_EQ(parse(value).key_value_width(), 40u);
}

TEST(Config, CONV_4_missing_fields_are_named) {
    for (const json& complete : {llama_config(), gpt2_config(), phi_config()}) {
        for (const auto& [name, value] : complete.items()) {
            if (name == "partial_rotary_factor") continue;
            json config = complete;
            config.erase(name);
            expect_refused(config, name);
        }
    }
}

TEST(Config, MODEL_8_MODEL_9_impossible_values_are_named) {
    const std::vector<std::tuple<json, const char*, json>> cases = {
        {gpt2_config(), "activation_function", "gelu"},
        {gpt2_config(), "activation_function", "relu"},
        {gpt2_config(), "scale_attn_weights", false},
        {gpt2_config(), "scale_attn_by_inverse_layer_idx", true},
        {gpt2_config(), "add_cross_attention", true},
        {gpt2_config(), "quantization_config", {{"bits", 4}}},
        {gpt2_config(), "n_embd", 0},
        {gpt2_config(), "n_embd", 360000},
        {gpt2_config(), "n_head", 5},
        {gpt2_config(), "n_head", 0},
        {gpt2_config(), "n_inner", 0},
        {gpt2_config(), "n_layer", 16384},
        {gpt2_config(), "n_positions", 0},
        {gpt2_config(), "layer_norm_epsilon", 0},
        {gpt2_config(), "tie_word_embeddings", "yes"},
        {gpt2_config(), "eos_token_id", 300},
        {phi_config(), "hidden_act", "gelu"},
        {phi_config(), "qk_layernorm", true},
        {phi_config(), "rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
        {phi_config(), "partial_rotary_factor", 0},
        {phi_config(), "partial_rotary_factor", 0.05},
        {phi_config(), "partial_rotary_factor", 0.15},
        {phi_config(), "partial_rotary_factor", 1.5},
        {phi_config(), "num_attention_heads", 3},
        {phi_config(), "num_key_value_heads", 3},
        {phi_config(), "layer_norm_eps", -1},
        {phi_config(), "rope_theta", 0},
        {phi_config(), "bos_token_id", 256},
    };
    for (const auto& [base, field, value] : cases) {
        SCOPED_TRACE(std::string(field) + " = " + value.dump());
        json config = base;
        config[field] = value;
        expect_refused(config, field);
    }
}

TEST(Config, PARAM_3_CONV_4_impossible_values_are_named) {
    const std::vector<std::pair<const char*, json>> cases = {
        {"model_type", "mixtral"},
        {"model_type", 1},
        {"hidden_act", "gelu"},
        {"rope_scaling", {{"factor", 2}}},
        {"rope_parameters", {{"rope_theta", 1.0}, {"factor", 2}}},
        {"rope_parameters", {{"rope_type", "yarn"}}},
        {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", "1"}}},
        {"rope_parameters", true},
        {"rope_scaling", {{"type", "longrope"}, {"factor", 2}}},
        {"partial_rotary_factor", 0.5},
        {"quantization_config", {{"bits", 4}}},
        {"attention_bias", true},
        {"mlp_bias", true},
        {"hidden_size", 0},
        {"hidden_size", -64},
        {"hidden_size", 64.0},
        {"hidden_size", "64"},
        {"hidden_size", (1 << 20) + 1},
        {"intermediate_size", 0},
        {"num_hidden_layers", 0},
        {"num_hidden_layers", 16384},
        {"num_attention_heads", 7},
        {"num_attention_heads", 0},
        {"num_key_value_heads", 3},
        {"num_key_value_heads", 16},
        {"num_key_value_heads", 0},
        {"head_dim", 7},
        {"head_dim", 1 << 18},
        {"vocab_size", 0},
        {"max_position_embeddings", 0},
        {"max_position_embeddings", std::uint64_t{1} << 40},
        {"rms_norm_eps", 0},
        {"rms_norm_eps", -1e-5},
        {"rms_norm_eps", 1e300},
        {"rms_norm_eps", 1e-300},
        {"rms_norm_eps", nullptr},
        {"rope_theta", 0},
        {"tie_word_embeddings", 1},
        {"bos_token_id", -1},
        {"bos_token_id", 512},
        {"eos_token_id", json::array()},
        {"eos_token_id", {512}},
        {"eos_token_id", {2, 512}},
        {"eos_token_id", "2"},
    };
    for (const auto& [field, value] : cases) {
        SCOPED_TRACE(std::string(field) + " = " + value.dump());
        json config = llama_config();
        config[field] = value;
        expect_refused(config, field);
    }
}

TEST(Config, CONV_4_what_is_no_object_is_refused) {
    for (const char* text : {"", "[]", "{", "null", R"({"hidden_size":64,"hidden_size":64})"}) {
        const std::string message = refusal([&] { parse_config(text, "DIR/config.json"); });
        EXPECT_NE(message.find("DIR/config.json"), std::string::npos) << text;
    }
}

TEST(Config, CONV_4_deep_nesting_is_refused) {
    // Copying a value that is nested a million times would end the stack.
    const std::size_t depth = 1'000'000;
    for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\":", "}")}) {
        std::string text = R"({"bos_token_id":)";
        for (std::size_t i = 0; i < depth; ++i) text += open;
        text += "1";
        for (std::size_t i = 0; i < depth; ++i) text += close;
        const std::string message = refusal([&] { parse_config(text + "}", "DIR/config.json"); });
        EXPECT_EQ(message, "DIR/config.json: is nested deeper than 64 arrays and objects");
    }
}

// --- checkpoint folders -------------------------------------------------------------------------

TEST(Checkpoint, CONV_4_missing_files_are_named) {
    const TemporaryFolder folder;
    const auto open = [&] { Checkpoint checkpoint(folder.path()); };
    EXPECT_NE(refusal(open).find("config.json"), std::string::npos);
    write_file(folder / "config.json", llama_config().dump(), 0600);
    EXPECT_NE(refusal(open).find("model.safetensors"), std::string::npos);
    write_safetensors(folder / "model.safetensors", {}, {}, 0600);
    EXPECT_EQ(refusal(open), "accepted");
}

/// A folder with config.json of a GPT-2 model and shards of one-element tensors.
class Sharded : public ::testing::Test {
protected:
    Sharded() {
        write_file(folder_ / "config.json", gpt2_config().dump(), 0600);
        write_shard("a.safetensors", {"transformer.wte.weight", "h.0.ln_1.weight"});
        write_shard("b.safetensors", {"lm_head.weight"});
    }
    void write_shard(const char* file, const std::vector<std::string>& names) {
        std::vector<Tensor> tensors;
        for (const std::string& name : names) {
            tensors.push_back({name, DType::f32, {1}, std::as_bytes(std::span(&one_, 1))});
        }
        std::filesystem::remove(folder_ / file);
        write_safetensors(folder_ / file, tensors, {}, 0600);
    }
    /// Writes the index and opens the folder.
    std::string opened_with(const json& weight_map) {
        const std::filesystem::path index = folder_ / "model.safetensors.index.json";
        std::filesystem::remove(index);
        write_file(index, json{{"metadata", {}}, {"weight_map", weight_map}}.dump(), 0600);
        return refusal([&] { Checkpoint checkpoint(folder_.path()); });
    }
    static json honest() {
        return {{"transformer.wte.weight", "a.safetensors"},
                {"h.0.ln_1.weight", "a.safetensors"},
                {"lm_head.weight", "b.safetensors"}};
    }
    static bool names(const std::string& message, std::initializer_list<const char*> words) {
        return std::all_of(words.begin(), words.end(), [&](const char* word) {
            return message.find(word) != std::string::npos;
        });
    }

    const TemporaryFolder folder_;
    const float one_ = 1.0f;
};

TEST_F(Sharded, MODEL_10_shards_are_one_checkpoint_with_full_names) {
    EXPECT_EQ(opened_with(honest()), "accepted");
    const Checkpoint checkpoint(folder_.path());
    std::vector<std::string> found;
    for (const auto& [name, tensor] : checkpoint.tensors()) {
        EXPECT_EQ(tensor.name, name);
        found.push_back(name);
    }
    EXPECT_EQ(found, (std::vector<std::string>{"lm_head.weight", "transformer.h.0.ln_1.weight",
                                               "transformer.wte.weight"}));
    EXPECT_EQ(checkpoint.floats("lm_head.weight", 1), std::vector<float>{1.0f});
    const auto missing = [&] { checkpoint.floats("transformer.wpe.weight", 1); };
    EXPECT_TRUE(names(refusal(missing), {"transformer.wpe.weight"}));
    EXPECT_TRUE(names(refusal([&] { checkpoint.floats("lm_head.weight", 2); }),
                      {"lm_head.weight", "1 elements", "2"}));
}

TEST_F(Sharded, MODEL_10_an_index_that_does_not_fit_its_shards_is_refused) {
    json index = honest();
    index["lm_head.weight"] = "a.safetensors";
    EXPECT_TRUE(names(opened_with(index), {"index.json", "lm_head.weight", "a.safetensors"}));

    index = honest();
    index.erase("h.0.ln_1.weight");
    EXPECT_TRUE(names(opened_with(index), {"a.safetensors", "h.0.ln_1.weight"}));

    index = honest();
    index["ghost"] = "b.safetensors";
    EXPECT_TRUE(names(opened_with(index), {"ghost", "b.safetensors"}));

    index = honest();
    index["lm_head.weight"] = "c.safetensors";
    EXPECT_TRUE(names(opened_with(index), {"c.safetensors"}));
}

TEST_F(Sharded, MODEL_10_an_index_opens_no_file_of_another_folder) {
    for (const json& shard :
         {json("../a.safetensors"), json("/a.safetensors"), json("sub/a"), json(".."), json("."),
          json(""), json(std::string("a\0b", 3)), json(7), json(nullptr)}) {
        json index = honest();
        index["lm_head.weight"] = shard;
        EXPECT_TRUE(names(opened_with(index), {"weight_map", "lm_head.weight"})) << shard;
    }
    EXPECT_TRUE(names(opened_with(json::object()), {"weight_map"}));
    EXPECT_TRUE(names(opened_with(json::array()), {"weight_map"}));
}

TEST_F(Sharded, MODEL_10_one_file_goes_before_an_index) {
    EXPECT_EQ(opened_with(honest()), "accepted");
    write_shard("model.safetensors", {"ln_f.weight"});
    const Checkpoint checkpoint(folder_.path());
    EXPECT_EQ(checkpoint.tensors().size(), 1u);
    EXPECT_EQ(checkpoint.tensors().count("transformer.ln_f.weight"), 1u);
}

TEST_F(Sharded, MODEL_10_computed_tables_are_ignored_and_double_names_refused) {
    write_shard("model.safetensors", {"h.0.attn.bias", "h.0.attn.masked_bias",
                                      "transformer.h.1.attn.bias", "h.0.attn.c_attn.bias"});
    const Checkpoint checkpoint(folder_.path());
    EXPECT_EQ(checkpoint.tensors().size(), 1u);
    EXPECT_EQ(checkpoint.tensors().count("transformer.h.0.attn.c_attn.bias"), 1u);

    write_shard("model.safetensors", {"wte.weight", "transformer.wte.weight"});
    EXPECT_TRUE(names(refusal([&] { Checkpoint again(folder_.path()); }),
                      {"model.safetensors", "transformer.wte.weight"}));
}

TEST_F(Sharded, MODEL_8_matrices_of_the_blocks_are_turned) {
    const std::vector<float> stored{1, 2, 3, 4, 5, 6};  // 2 inputs x 3 outputs
    const auto bytes = std::as_bytes(std::span(stored));
    const std::string turned = "transformer.h.0.attn.c_proj.weight";
    write_safetensors(folder_ / "model.safetensors",
                      {{turned, DType::f32, {2, 3}, bytes},
                       {"transformer.wte.weight", DType::f32, {2, 3}, bytes}},
                      {}, 0600);
    const Checkpoint checkpoint(folder_.path());
    EXPECT_EQ(checkpoint.floats(turned, 6), (std::vector<float>{1, 4, 2, 5, 3, 6}));
    EXPECT_EQ(checkpoint.floats("transformer.wte.weight", 6), stored);
    checkpoint.require_matrix(turned, 3, 2);
    checkpoint.require_matrix("transformer.wte.weight", 2, 3);
    EXPECT_TRUE(names(refusal([&] { checkpoint.require_matrix(turned, 2, 3); }), {"c_proj"}));
    EXPECT_TRUE(names(refusal([&] { checkpoint.require_matrix("transformer.wte.weight", 3, 2); }),
                      {"transformer.wte.weight"}));
}

/// The folder of a real model, or an empty path.
std::filesystem::path stories() {
    const std::filesystem::path path =
        std::filesystem::path(SLIP_SHARED_DIR) / "data/models/stories260K";
    return std::filesystem::exists(path) ? path : std::filesystem::path();
}

TEST(Checkpoint, a_real_model) {
    if (stories().empty()) GTEST_SKIP() << "the shared model stories260K is not here";
    const Checkpoint checkpoint(stories());
    EXPECT_EQ(checkpoint.config().num_key_value_heads, 4u);
    EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
    EXPECT_EQ(json::parse(checkpoint.config_text()).at("vocab_size"), 512);
    const Tensor& embedding = checkpoint.tensors().at("model.embed_tokens.weight");
    EXPECT_EQ(embedding.shape, (std::vector<std::size_t>{512, 64}));
    EXPECT_EQ(to_floats(embedding).size(), 512u * 64);
}

}  // namespace
