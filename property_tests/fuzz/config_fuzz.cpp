// config.json of every family.
#include <cmath>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::config_fuzz {
namespace {

constexpr std::size_t largest_extent = std::size_t{1} << 20;  // PARAM-3

void require_usable(const base::ModelConfig& config) {
    for (const std::size_t extent :
         {config.hidden_size, config.intermediate_size, config.vocab_size, config.head_dim,
          config.max_position_embeddings, config.num_attention_heads * config.head_dim}) {
        expect(extent >= 1 && extent <= largest_extent, "an extent is beyond 2^20");
    }
    expect(config.num_hidden_layers >= 1 && config.num_hidden_layers < (1 << 14),
           "the model has more than 2^16 groups");
    expect(config.num_key_value_heads >= 1 &&
               config.num_attention_heads % config.num_key_value_heads == 0,
           "the heads do not divide");
    expect(config.rotary_dim % 2 == 0 && config.rotary_dim <= config.head_dim, "RoPE needs pairs");
    expect(std::isfinite(config.norm_eps) && config.norm_eps > 0, "the norm's epsilon");
    const base::RopeScaling& scaling = config.rope.scaling;
    if (scaling.kind == base::RopeScaling::Kind::longrope) {
        expect(scaling.short_factors.size() == config.rotary_dim / 2 &&
                   scaling.long_factors.size() == config.rotary_dim / 2 &&
                   std::isfinite(scaling.attention_factor),
               "longrope has a factor for every frequency");
    }
    expect(config.windows.empty() || config.windows.size() == config.num_hidden_layers,
           "a window for every block, or none");
    for (const auto id : {config.bos_token_id, config.eos_token_id}) {
        expect(!id || (*id >= 0 && static_cast<std::size_t>(*id) < config.vocab_size),
               "a token id is outside the vocabulary");
    }
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    std::vector<Bytes> texts;
    for (const char* text :
         {R"({"model_type": "llama", "hidden_size": 16, "intermediate_size": 24,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
 "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "tie_word_embeddings": true,
 "hidden_act": "silu", "rope_theta": 10000.0, "head_dim": 4, "bos_token_id": 1,
 "eos_token_id": [2, 3], "rope_scaling": null, "attention_bias": false})",
          R"({"model_type": "llama", "hidden_size": 8, "intermediate_size": 1,
 "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 3, "max_position_embeddings": 1,
 "rms_norm_eps": 1, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}})",
          R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32,
 "vocab_size": 32, "n_inner": null, "activation_function": "gelu_new",
 "layer_norm_epsilon": 1e-5, "bos_token_id": 1, "eos_token_id": 1})",
          R"({"model_type": "phi", "hidden_size": 16, "intermediate_size": 64,
 "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 32, "hidden_act": "gelu_new",
 "max_position_embeddings": 32, "layer_norm_eps": 1e-5, "partial_rotary_factor": 0.5,
 "tie_word_embeddings": false, "qk_layernorm": false})",
          R"({"model_type": "phi3", "hidden_size": 16, "intermediate_size": 24,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
 "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "original_max_position_embeddings": 8,
 "sliding_window": 7, "partial_rotary_factor": 1.0, "rope_scaling": {"type": "longrope",
 "long_factor": [3.5, 11], "short_factor": [1, 1.5]}})",
          R"({"model_type": "gemma3_text", "hidden_size": 16, "intermediate_size": 24,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
 "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "head_dim": 4, "sliding_window": 7,
 "layer_types": ["sliding_attention", "full_attention"], "final_logit_softcapping": 5,
 "rope_parameters": {"full_attention": {"rope_type": "llama3", "factor": 8.0,
 "high_freq_factor": 4.0, "low_freq_factor": 1.0, "original_max_position_embeddings": 8},
 "sliding_attention": {"rope_theta": 100}}})",
          R"({"model_type": "qwen2", "hidden_size": 16, "intermediate_size": 24,
 "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
 "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "sliding_window": 7,
 "use_sliding_window": true, "max_window_layers": 1,
 "rope_scaling": {"rope_type": "linear", "factor": 2}})"}) {
        texts.push_back(bytes_of(text));
    }
    return texts;
}

bool check(std::span<const std::byte> input) {
    base::ModelConfig config;
    if (!accepts<BadInput>([&] { config = importing::parse_config(text_of(input), "file"); })) {
        return false;
    }
    require_usable(config);
    return true;
}

const Target target{"config_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::config_fuzz
