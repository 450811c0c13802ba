#include "optimized/import/config.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {
namespace {

using base::Family;
using base::ModelConfig;
using nlohmann::json;

/// PARAM-3: rows and columns of a matrix; the same for positions.
using base::parameters::largest_extent;
/// PARAM-3: a model has at most 4 groups per block, and one for its head.
constexpr std::size_t largest_blocks = (base::parameters::largest_group_count - 1) / 4;

/// Whether the field is there with a value: null means what absence means.
bool given(JsonObject& config, const std::string& name) {
    return config.has(name) && !config.field(name).is_null();
}

/// Refuses `name` unless it is absent, null or `value`, which is what the graph computes.
void require_value(JsonObject& config, const std::string& name, const json& value) {
    if (!given(config, name) || config.field(name) == value) return;
    config.refuse(name, "it to be absent, null or " + value.dump() +
                            "; this build has no support for anything else");
}

/// Refuses `name` if it is absent or none of `allowed`.
void require_one_of(JsonObject& config, const std::string& name,
                    std::initializer_list<const char*> allowed) {
    const std::string found = config.text(name);
    std::string list;
    for (const char* value : allowed) {
        if (found == value) return;
        list += std::string(list.empty() ? "" : " or ") + "\"" + value + "\"";
    }
    config.refuse(name, list);
}

/// GELU in its tanh form goes by several names. Absent means the first, the families' default.
void require_gelu(JsonObject& config, const std::string& name) {
    if (!given(config, name)) return;
    require_one_of(config, name, {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
}

std::size_t extent(JsonObject& config, const std::string& name) {
    return config.integer(name, 1, largest_extent);
}

double positive(JsonObject& config, const std::string& name) {
    const double value = config.number(name);
    const auto narrow = static_cast<float>(value);
    if (!(narrow > 0) || !std::isfinite(narrow)) {
        config.refuse(name, "a positive number within the range of float32");
    }
    return value;
}

float epsilon(JsonObject& config, const std::string& name) {
    return static_cast<float>(positive(config, name));
}

/// A token id inside the vocabulary, or none. Some models have several EOS tokens; the first is
/// taken. Where the field is absent, the family's own default holds if the vocabulary has it.
std::optional<TokenId> token_id(JsonObject& config, const std::string& name,
                                const ModelConfig& parsed, TokenId otherwise) {
    const auto inside = [&](const json& value) {
        return value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
               value.get<std::uint64_t>() < parsed.vocab_size;
    };
    if (!config.has(name)) {
        return inside(otherwise) ? std::optional(otherwise) : std::nullopt;
    }
    const json& field = config.field(name);
    if (field.is_null()) return std::nullopt;
    const json& value = field.is_array() && !field.empty() ? field.front() : field;
    if (!inside(value)) config.refuse(name, "a token id of the vocabulary");
    return value.get<TokenId>();
}

void parse_special_tokens(JsonObject& config, ModelConfig& parsed, TokenId bos, TokenId eos) {
    parsed.bos_token_id = token_id(config, "bos_token_id", parsed, bos);
    parsed.eos_token_id = token_id(config, "eos_token_id", parsed, eos);
}

/// hidden_size, divided among the heads.
std::size_t equal_heads(JsonObject& config, const ModelConfig& parsed, const std::string& name) {
    if (parsed.hidden_size % parsed.num_attention_heads != 0) {
        config.refuse(name, "a divisor of the hidden size");
    }
    return parsed.hidden_size / parsed.num_attention_heads;
}

/// Heads, key heads and the width of a head.
void parse_heads(JsonObject& config, ModelConfig& parsed) {
    const std::size_t heads = config.integer("num_attention_heads", 1, largest_extent);
    parsed.num_attention_heads = heads;
    parsed.num_key_value_heads = given(config, "num_key_value_heads")
                                     ? config.integer("num_key_value_heads", 1, heads)
                                     : heads;
    if (heads % parsed.num_key_value_heads != 0) {
        config.refuse("num_key_value_heads", "a divisor of num_attention_heads");
    }
    parsed.head_dim = parsed.family == Family::llama && given(config, "head_dim")
                          ? extent(config, "head_dim")
                          : equal_heads(config, parsed, "num_attention_heads");
    if (parsed.head_dim > largest_extent / heads) {
        config.refuse("head_dim", "at most 2^20 rows in all heads");
    }
}

/// The names that LLaMA and Phi-2 have in common.
void parse_common_dimensions(JsonObject& config, ModelConfig& parsed) {
    parsed.hidden_size = extent(config, "hidden_size");
    parsed.intermediate_size = extent(config, "intermediate_size");
    parsed.num_hidden_layers = config.integer("num_hidden_layers", 1, largest_blocks);
    parsed.vocab_size = extent(config, "vocab_size");
    parsed.max_position_embeddings = extent(config, "max_position_embeddings");
    parse_heads(config, parsed);
}

/// The base and the turned part of RoPE, which newer files put into an object of its own. What
/// remains there is scaling of positions, which changes what the model computes.
struct Rope {
    double theta = 10000.0;
    double partial_factor = 1.0;
};

void read_rope_fields(JsonObject& object, Rope& rope) {
    if (given(object, "rope_theta")) rope.theta = positive(object, "rope_theta");
    if (given(object, "partial_rotary_factor")) {
        rope.partial_factor = positive(object, "partial_rotary_factor");
    }
}

Rope parse_rope(JsonObject& config, double partial_factor) {
    Rope rope;
    rope.partial_factor = partial_factor;
    read_rope_fields(config, rope);
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
        if (!given(config, name) || config.field(name) == false) continue;
        JsonObject object = config.object(name);
        for (const char* type : {"rope_type", "type"}) {
            if (object.has(type) && object.text(type) != "default") {
                config.refuse(
                    name, std::string(type) + " \"default\"; this build does not scale positions");
            }
        }
        read_rope_fields(object, rope);
        object.refuse_unknown_fields();
    }
    return rope;
}

/// Sets rotary_dim as Hugging Face does: the product, cut to an integer.
void parse_rotary(JsonObject& config, ModelConfig& parsed, double default_factor) {
    const Rope rope = parse_rope(config, default_factor);
    parsed.rope_theta = rope.theta;
    if (rope.partial_factor > 1) config.refuse("partial_rotary_factor", "at most 1");
    parsed.rotary_dim =
        static_cast<std::size_t>(rope.partial_factor * static_cast<double>(parsed.head_dim));
    if (parsed.rotary_dim == 0 || parsed.rotary_dim % 2 != 0) {
        config.refuse(default_factor == 1 ? "head_dim" : "partial_rotary_factor",
                      "an even number of elements to turn");
    }
}

void parse_tied_head(JsonObject& config, ModelConfig& parsed, bool otherwise) {
    parsed.tie_word_embeddings =
        given(config, "tie_word_embeddings") ? config.boolean("tie_word_embeddings") : otherwise;
}

ModelConfig parse_llama(JsonObject& config) {
    ModelConfig parsed;
    parsed.family = Family::llama;
    if (given(config, "hidden_act")) require_one_of(config, "hidden_act", {"silu"});
    for (const char* name : {"attention_bias", "mlp_bias"}) require_value(config, name, false);
    require_value(config, "partial_rotary_factor", 1.0);
    parse_common_dimensions(config, parsed);
    parsed.norm_eps = epsilon(config, "rms_norm_eps");
    parse_rotary(config, parsed, 1.0);
    parse_tied_head(config, parsed, false);
    parse_special_tokens(config, parsed, 1, 2);
    return parsed;
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
    parsed.norm_eps =
        given(config, "layer_norm_epsilon") ? epsilon(config, "layer_norm_epsilon") : 1e-5F;
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
    parsed.norm_eps = given(config, "layer_norm_eps") ? epsilon(config, "layer_norm_eps") : 1e-5F;
    parse_rotary(config, parsed, 0.5);
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
    require_one_of(config, "model_type", {"llama", "gpt2", "phi"});
    const std::string family = config.text("model_type");
    if (family == "gpt2") return parse_gpt2(config);
    if (family == "phi") return parse_phi(config);
    return parse_llama(config);
}

}  // namespace slip::importing
