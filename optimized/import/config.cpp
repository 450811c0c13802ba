#include "optimized/import/config.hpp"

#include <string>

#include "optimized/base/error.hpp"
#include "optimized/import/config_fields.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/llama_config.hpp"
#include "optimized/import/rope_config.hpp"

namespace slip::importing {
namespace {

using base::Family;
using base::ModelConfig;
using nlohmann::json;

/// GELU in its tanh form goes by several names. Absent means the first, the families' default.
void require_gelu(JsonObject& config, const std::string& name) {
    if (!given(config, name)) return;
    require_one_of(config, name, {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
}

/// The epsilon of LayerNorm.
float epsilon(JsonObject& config, const std::string& name) {
    return given(config, name) ? static_cast<float>(positive(config, name)) : 1e-5F;
}

ModelConfig parse_gpt2(JsonObject& config) {
    ModelConfig parsed;
    parsed.family = Family::gpt2;
    require_gelu(config, "activation_function");
    require_value(config, "scale_attn_weights", true);
    require_value(config, "scale_attn_by_inverse_layer_idx", false);
    require_value(config, "add_cross_attention", false);
    parsed.hidden_size = extent(config, "n_embd");
    parsed.intermediate_size =
        given(config, "n_inner") ? extent(config, "n_inner") : 4 * parsed.hidden_size;
    if (3 * parsed.hidden_size > largest_extent || parsed.intermediate_size > largest_extent) {
        config.refuse("n_embd", "at most 2^20 rows in every matrix");
    }
    parsed.num_hidden_layers = config.integer("n_layer", 1, largest_blocks);
    parsed.vocab_size = extent(config, "vocab_size");
    parsed.max_position_embeddings = extent(config, "n_positions");
    parsed.num_attention_heads = config.integer("n_head", 1, largest_extent);
    parsed.num_key_value_heads = parsed.num_attention_heads;
    parsed.head_dim = equal_heads(config, parsed, "n_head");
    parsed.norm_eps = epsilon(config, "layer_norm_epsilon");
    parse_tied_head(config, parsed, true);
    parse_special_tokens(config, parsed, 50256, 50256);
    return parsed;
}

ModelConfig parse_phi(JsonObject& config) {
    ModelConfig parsed;
    parsed.family = Family::phi;
    require_gelu(config, "hidden_act");
    require_value(config, "qk_layernorm", false);
    parse_common_dimensions(config, parsed);
    parsed.head_dim = equal_heads(config, parsed, "num_attention_heads");
    parsed.norm_eps = epsilon(config, "layer_norm_eps");
    parse_rope(config, {.partial_factor = 0.5, .partial = true}, parsed);
    parse_tied_head(config, parsed, false);
    parse_special_tokens(config, parsed, 1, 2);
    return parsed;
}

}  // namespace

ModelConfig parse_config(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    JsonObject config(value, origin, "configuration");
    if (given(config, "quantization_config")) {
        config.refuse("quantization_config", "it to be absent: float weights");
    }
    const std::string type = config.text("model_type");
    if (type == "gpt2") return parse_gpt2(config);
    if (type == "phi") return parse_phi(config);
    if (is_llama_type(type)) return parse_llama(config, type);
    config.refuse("model_type",
                  "\"llama\", \"mistral\", \"qwen2\", \"qwen3\", \"phi3\", \"gemma2\", "
                  "\"gemma3_text\", \"gpt2\" or \"phi\", not " +
                      json(type).dump());
}

}  // namespace slip::importing
