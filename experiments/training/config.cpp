#include "config.hpp"

#include "text.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace training {

namespace {

nlohmann::ordered_json gpt2_json(const ModelConfig& config) {
    return {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
            {"n_embd", config.hidden_size},
            {"n_inner", config.intermediate_size},
            {"n_layer", config.num_hidden_layers},
            {"n_head", config.num_attention_heads},
            {"vocab_size", config.vocab_size},
            {"n_positions", config.max_position_embeddings},
            {"n_ctx", config.max_position_embeddings},
            {"activation_function", "gelu_new"},
            {"layer_norm_epsilon", config.norm_eps}};
}

/// What LLaMA and Phi-2 have in common.
nlohmann::ordered_json rotary_json(const ModelConfig& config) {
    nlohmann::ordered_json json;
    const bool llama = config.family == Family::llama;
    json["architectures"] = {llama ? "LlamaForCausalLM" : "PhiForCausalLM"};
    json["model_type"] = name_of(config.family);
    json["hidden_size"] = config.hidden_size;
    json["intermediate_size"] = config.intermediate_size;
    json["num_hidden_layers"] = config.num_hidden_layers;
    json["num_attention_heads"] = config.num_attention_heads;
    json["num_key_value_heads"] = config.num_key_value_heads;
    json["vocab_size"] = config.vocab_size;
    json["max_position_embeddings"] = config.max_position_embeddings;
    json[llama ? "rms_norm_eps" : "layer_norm_eps"] = config.norm_eps;
    json["rope_theta"] = config.rope_theta;
    json["hidden_act"] = llama ? "silu" : "gelu_new";
    if (llama) {
        json["attention_bias"] = false;
        json["mlp_bias"] = false;
    } else {
        json["partial_rotary_factor"] = config.partial_rotary_factor;
        json["qk_layernorm"] = false;
    }
    return json;
}

void read_gpt2(const nlohmann::json& json, ModelConfig& config) {
    config.hidden_size = json.at("n_embd");
    const auto inner = json.find("n_inner");
    config.intermediate_size =
        inner == json.end() || inner->is_null() ? 4 * config.hidden_size : inner->get<int64_t>();
    config.num_hidden_layers = json.at("n_layer");
    config.num_attention_heads = json.at("n_head");
    config.num_key_value_heads = config.num_attention_heads;
    config.max_position_embeddings = json.at("n_positions");
    config.norm_eps = json.value("layer_norm_epsilon", 1e-5);
    config.tie_word_embeddings = json.value("tie_word_embeddings", true);
}

void read_rotary(const nlohmann::json& json, ModelConfig& config) {
    const bool llama = config.family == Family::llama;
    config.hidden_size = json.at("hidden_size");
    config.intermediate_size = json.at("intermediate_size");
    config.num_hidden_layers = json.at("num_hidden_layers");
    config.num_attention_heads = json.at("num_attention_heads");
    config.num_key_value_heads = json.value("num_key_value_heads", config.num_attention_heads);
    config.max_position_embeddings = json.at("max_position_embeddings");
    config.norm_eps = json.value(llama ? "rms_norm_eps" : "layer_norm_eps", 1e-5);
    config.rope_theta = json.value("rope_theta", 10000.0);
    config.partial_rotary_factor = json.value("partial_rotary_factor", llama ? 1.0 : 0.5);
    config.tie_word_embeddings = json.value("tie_word_embeddings", false);
}

}  // namespace

const char* name_of(Family family) {
    switch (family) {
        case Family::llama:
            return "llama";
        case Family::gpt2:
            return "gpt2";
        case Family::phi:
            return "phi";
    }
    throw std::invalid_argument("no such family");
}

Family family_named(const std::string& name) {
    for (const Family family : {Family::llama, Family::gpt2, Family::phi}) {
        if (name == name_of(family)) return family;
    }
    throw std::invalid_argument("expected llama, gpt2 or phi, got '" + name + "'");
}

void ModelConfig::require_consistent(const std::string& origin) const {
    if (num_attention_heads < 1 || num_key_value_heads < 1 ||
        num_attention_heads % num_key_value_heads != 0 || hidden_size % num_attention_heads != 0) {
        throw std::runtime_error(
            origin + ": expected key/value heads to divide heads, and heads to divide the width");
    }
    if (family != Family::gpt2 && (rotary_size() < 2 || rotary_size() % 2 != 0)) {
        throw std::runtime_error(origin +
                                 ": expected RoPE to turn an even number of a head's elements");
    }
}

std::string ModelConfig::to_json() const {
    nlohmann::ordered_json json = family == Family::gpt2 ? gpt2_json(*this) : rotary_json(*this);
    json["tie_word_embeddings"] = tie_word_embeddings;
    json["bos_token_id"] = kBos;
    json["eos_token_id"] = kEos;
    json["torch_dtype"] = "float16";
    return json.dump(2) + "\n";
}

ModelConfig ModelConfig::load(const std::string& path) try {
    const auto json = nlohmann::json::parse(read_file(path));
    ModelConfig config;
    config.family = family_named(json.at("model_type"));
    config.vocab_size = json.at("vocab_size");
    if (config.family == Family::gpt2) {
        read_gpt2(json, config);
    } else {
        read_rotary(json, config);
    }
    config.require_consistent(path);
    return config;
} catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": not the expected JSON: " + error.what());
} catch (const std::invalid_argument& error) {
    throw std::runtime_error(path + ": model_type: " + error.what());
}

}  // namespace training
