// Configurations, checkpoint directories and tokenizers.
#include "optimized/import/checkpoint.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/tokenizer.hpp"
#include "property_tests/temporary_directory.hpp"

namespace {

using nlohmann::json;
using slip::ModelConfig;
using slip::testing::TemporaryDirectory;

json minimal_config() {
    return {{"model_type", "llama"},    {"hidden_size", 64},
            {"intermediate_size", 172}, {"num_hidden_layers", 5},
            {"num_attention_heads", 8}, {"vocab_size", 512},
            {"rms_norm_eps", 1e-05},    {"max_position_embeddings", 512}};
}

ModelConfig parse(const json& config) {
    return slip::parse_config(config.dump(), "DIR/config.json");
}

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const slip::BadInput& error) {
        return error.what();
    }
    return "accepted";
}

/// The refusal must name the file and the field.
void expect_refused(const json& config, const std::string& field) {
    const std::string message = refusal([&] { parse(config); });
    EXPECT_NE(message.find("DIR/config.json"), std::string::npos) << message;
    EXPECT_NE(message.find("\"" + field + "\""), std::string::npos) << message;
}

// --- config.json ---------------------------------------------------------------------------------

TEST(Config, MODEL_2_defaults_of_the_family) {
    const ModelConfig config = parse(minimal_config());
    EXPECT_EQ(config.hidden_size, 64u);
    EXPECT_EQ(config.intermediate_size, 172u);
    EXPECT_EQ(config.num_hidden_layers, 5u);
    EXPECT_EQ(config.num_attention_heads, 8u);
    EXPECT_EQ(config.num_key_value_heads, 8u);
    EXPECT_EQ(config.head_dim, 8u);
    EXPECT_EQ(config.vocab_size, 512u);
    EXPECT_EQ(config.max_position_embeddings, 512u);
    EXPECT_EQ(config.norm_eps, 1e-05f);
    EXPECT_EQ(config.rope_theta, 10000.0);
    EXPECT_FALSE(config.tie_word_embeddings);
    EXPECT_EQ(config.bos_token_id, 1);
    EXPECT_EQ(config.eos_token_id, 2);
}

TEST(Config, MODEL_2_every_field_is_read) {
    json value = minimal_config();
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
    EXPECT_EQ(config.rope_theta, 500000.0);
    EXPECT_TRUE(config.tie_word_embeddings);
    EXPECT_EQ(config.bos_token_id, 3);
    EXPECT_EQ(config.eos_token_id, 4);
}

TEST(Config, CONV_4_missing_fields_are_named) {
    const json complete = minimal_config();
    for (const auto& [name, value] : complete.items()) {
        json config = complete;
        config.erase(name);
        expect_refused(config, name);
    }
}

TEST(Config, PARAM_3_CONV_4_impossible_values_are_named) {
    const std::vector<std::pair<const char*, json>> cases = {
        {"model_type", "mistral"},
        {"model_type", 1},
        {"hidden_act", "gelu"},
        {"rope_scaling", {{"factor", 2}}},
        {"rope_parameters", {{"rope_theta", 1.0}}},
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
        {"bos_token_id", nullptr},
        {"eos_token_id", json::array()},
        {"eos_token_id", {512}},
        {"eos_token_id", "2"},
    };
    for (const auto& [field, value] : cases) {
        SCOPED_TRACE(std::string(field) + " = " + value.dump());
        json config = minimal_config();
        config[field] = value;
        expect_refused(config, field);
    }
}

TEST(Config, CONV_4_what_is_no_object_is_refused) {
    for (const char* text : {"", "[]", "{", "null", R"({"hidden_size":64,"hidden_size":64})"}) {
        const std::string message = refusal([&] { slip::parse_config(text, "DIR/config.json"); });
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
        const std::string message =
            refusal([&] { slip::parse_config(text + "}", "DIR/config.json"); });
        EXPECT_EQ(message, "DIR/config.json: is nested deeper than 64 arrays and objects");
    }
}

// --- checkpoint directories ----------------------------------------------------------------------

TEST(Checkpoint, CONV_4_missing_files_are_named) {
    const TemporaryDirectory directory;
    const auto open = [&] { slip::Checkpoint checkpoint(directory.path()); };
    EXPECT_NE(refusal(open).find("config.json"), std::string::npos);
    slip::write_file(directory / "config.json", minimal_config().dump(), 0600);
    EXPECT_NE(refusal(open).find("model.safetensors"), std::string::npos);
    slip::write_safetensors(directory / "model.safetensors", {}, {}, 0600);
    EXPECT_EQ(refusal(open), "accepted");
    EXPECT_TRUE(slip::Checkpoint(directory.path()).tokenizer().empty());
}

/// The directory of a real model, or an empty path.
std::filesystem::path stories() {
    const std::filesystem::path path =
        std::filesystem::path(SLIP_SHARED_DIR) / "data/models/stories260K";
    return std::filesystem::exists(path) ? path : std::filesystem::path();
}

TEST(Checkpoint, a_real_model) {
    if (stories().empty()) GTEST_SKIP() << "the shared model stories260K is not here";
    const slip::Checkpoint checkpoint(stories());
    EXPECT_EQ(checkpoint.config().num_key_value_heads, 4u);
    EXPECT_TRUE(checkpoint.config().tie_word_embeddings);
    EXPECT_EQ(json::parse(checkpoint.config_text()).at("vocab_size"), 512);
    const slip::Tensor& embedding = checkpoint.tensors().at("model.embed_tokens.weight");
    EXPECT_EQ(embedding.shape, (std::vector<std::size_t>{512, 64}));
    EXPECT_EQ(slip::to_floats(embedding).size(), 512u * 64);
    EXPECT_FALSE(checkpoint.tokenizer().empty());
}

// --- tokenizer -----------------------------------------------------------------------------------

TEST(Tokenizer, published_text_of_a_real_model) {
    if (stories().empty()) GTEST_SKIP() << "the shared model stories260K is not here";
    slip::Tokenizer tokenizer(stories() / "tokenizer.model");
    EXPECT_EQ(tokenizer.vocab_size(), 512u);
    const std::string text = slip::read_file(stories() / "greedy_200.txt");
    const json recorded = json::parse(slip::read_file(stories() / "greedy_ids.json"));
    const auto ids = recorded.at("greedy_ids").get<std::vector<slip::TokenId>>();
    const std::string decoded = tokenizer.decode(ids);
    EXPECT_EQ(text.substr(0, 100), decoded.substr(0, 100));
    EXPECT_EQ(tokenizer.encode(tokenizer.decode(tokenizer.encode(decoded))),
              tokenizer.encode(decoded));
    slip::Tokenizer moved = std::move(tokenizer);
    EXPECT_EQ(moved.decode(moved.encode("Once upon a time")), "Once upon a time");
    EXPECT_TRUE(moved.encode("").empty());
    EXPECT_EQ(moved.decode({}), "");
}

TEST(Tokenizer, CONV_4_ids_outside_the_vocabulary_are_refused) {
    if (stories().empty()) GTEST_SKIP() << "the shared model stories260K is not here";
    const slip::Tokenizer tokenizer(stories() / "tokenizer.model");
    for (const slip::TokenId id : {-1, 512, 1 << 30}) {
        EXPECT_NE(refusal([&] { tokenizer.decode(std::vector{id}); }).find(std::to_string(id)),
                  std::string::npos);
    }
}

TEST(Tokenizer, CONV_4_what_is_no_model_is_refused_and_named) {
    const TemporaryDirectory directory;
    slip::write_file(directory / "tokenizer.model", "no protocol buffer", 0600);
    testing::internal::CaptureStderr();
    EXPECT_NE(
        refusal([&] { slip::Tokenizer{directory / "tokenizer.model"}; }).find("tokenizer.model"),
        std::string::npos);
    EXPECT_NE(refusal([&] { slip::Tokenizer{directory / "missing"}; }).find("missing"),
              std::string::npos);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the library must stay silent";
}

}  // namespace
