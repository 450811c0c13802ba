// Dimensions of a decoder of one of three families, read from and written as Hugging Face's
// config.json.
#pragma once

#include <cstdint>
#include <string>

namespace training {

enum class Family { llama, gpt2, phi };

/// model_type of config.json: "llama", "gpt2" or "phi".
const char* name_of(Family family);
/// Throws std::invalid_argument for another name.
Family family_named(const std::string& name);

/// Where the families' config.json files use different names for one thing, the name is LLaMA's.
struct ModelConfig {
    Family family = Family::llama;
    int64_t hidden_size = 192;
    int64_t intermediate_size = 512;
    int64_t num_hidden_layers = 6;
    int64_t num_attention_heads = 6;
    int64_t num_key_value_heads = 3;
    int64_t vocab_size = 2048;
    int64_t max_position_embeddings = 512;
    double norm_eps = 1e-5;
    double rope_theta = 10000.0;
    double partial_rotary_factor = 1.0;  // the share of a head that RoPE turns, its first elements
    bool tie_word_embeddings = true;

    [[nodiscard]] int64_t head_size() const { return hidden_size / num_attention_heads; }
    [[nodiscard]] int64_t rotary_size() const {
        return static_cast<int64_t>(partial_rotary_factor * static_cast<double>(head_size()));
    }
    /// Throws std::runtime_error, beginning with `origin`, for heads that do not fit.
    void require_consistent(const std::string& origin) const;
    [[nodiscard]] std::string to_json() const;
    /// Reads a Hugging Face config.json.
    static ModelConfig load(const std::string& config_json_path);
};

}  // namespace training
