#include "optimized/import/checkpoint.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"

namespace slip {
namespace {

using nlohmann::json;

/// PARAM-3: rows and columns of a matrix; the same for positions.
constexpr std::size_t largest_extent = std::size_t{1} << 20;
/// PARAM-3: at most 2^16 groups; a model has 4 a block and one for its head.
constexpr std::size_t largest_blocks = ((std::size_t{1} << 16) - 1) / 4;

/// Refuses `name` unless it is absent, null or false.
void require_off(JsonObject& config, const std::string& name) {
    if (!config.has(name)) return;
    const json& value = config.field(name);
    if (value.is_null() || value == false) return;
    config.refuse(name, "it to be absent, null or false; this build has no support for it");
}

/// Refuses what members of the family may have and this build does not implement.
void require_supported(JsonObject& config) {
    if (config.text("model_type") != "llama") config.refuse("model_type", "\"llama\"");
    if (config.has("hidden_act") && config.text("hidden_act") != "silu") {
        config.refuse("hidden_act", "\"silu\"");
    }
    for (const char* name :
         {"rope_scaling", "rope_parameters", "attention_bias", "mlp_bias", "quantization_config"}) {
        require_off(config, name);
    }
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

/// A token id inside the vocabulary. Some models have several EOS tokens; the first is taken.
TokenId token_id(JsonObject& config, const std::string& name, const ModelConfig& parsed,
                 TokenId otherwise) {
    std::optional<json> value;
    if (!config.has(name)) {
        value = otherwise;
    } else if (config.field(name).is_array() && !config.field(name).empty()) {
        value = config.field(name).front();
    } else {
        value = config.field(name);
    }
    const bool inside = value->is_number_integer() && value->get<std::int64_t>() >= 0 &&
                        value->get<std::uint64_t>() < parsed.vocab_size;
    if (!inside) config.refuse(name, "a token id of the vocabulary");
    return value->get<TokenId>();
}

void parse_dimensions(JsonObject& config, ModelConfig& parsed) {
    parsed.hidden_size = extent(config, "hidden_size");
    parsed.intermediate_size = extent(config, "intermediate_size");
    parsed.num_hidden_layers = config.integer("num_hidden_layers", 1, largest_blocks);
    parsed.vocab_size = extent(config, "vocab_size");
    parsed.max_position_embeddings = extent(config, "max_position_embeddings");
}

void parse_heads(JsonObject& config, ModelConfig& parsed) {
    const std::size_t heads = config.integer("num_attention_heads", 1, largest_extent);
    parsed.num_attention_heads = heads;
    parsed.num_key_value_heads =
        config.has("num_key_value_heads") ? config.integer("num_key_value_heads", 1, heads) : heads;
    if (heads % parsed.num_key_value_heads != 0) {
        config.refuse("num_key_value_heads", "a divisor of num_attention_heads");
    }
    if (config.has("head_dim")) {
        parsed.head_dim = extent(config, "head_dim");
    } else if (parsed.hidden_size % heads == 0) {
        parsed.head_dim = parsed.hidden_size / heads;
    } else {
        config.refuse("num_attention_heads", "a divisor of hidden_size");
    }
    if (parsed.head_dim % 2 != 0) config.refuse("head_dim", "an even number, for RoPE");
    if (parsed.head_dim > largest_extent / heads) {
        config.refuse("head_dim", "at most 2^20 rows in all heads");
    }
}

}  // namespace

ModelConfig parse_config(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    JsonObject config(value, origin, "configuration");
    require_supported(config);
    ModelConfig parsed;
    parse_dimensions(config, parsed);
    parse_heads(config, parsed);
    parsed.norm_eps = static_cast<float>(positive(config, "rms_norm_eps"));
    if (config.has("rope_theta")) parsed.rope_theta = positive(config, "rope_theta");
    if (config.has("tie_word_embeddings")) {
        parsed.tie_word_embeddings = config.boolean("tie_word_embeddings");
    }
    parsed.rotary_dim = parsed.head_dim;
    parsed.bos_token_id = token_id(config, "bos_token_id", parsed, 1);
    parsed.eos_token_id = token_id(config, "eos_token_id", parsed, 2);
    return parsed;
}

Checkpoint::Checkpoint(const std::filesystem::path& directory)
    : directory_(directory),
      config_text_(read_file(directory / "config.json")),
      config_(parse_config(config_text_, directory / "config.json")),
      weights_(directory / "model.safetensors"),
      tensors_(weights_.tensors()) {}

const Tensor& Checkpoint::tensor(std::string_view name) const {
    const auto found = tensors_.find(name);
    if (found != tensors_.end()) return found->second;
    throw BadInput(directory_.string() + ": there is no tensor " + std::string(name));
}

void Checkpoint::require_matrix(std::string_view name, std::size_t m, std::size_t n) const {
    if (tensor(name).shape == std::vector<std::size_t>{m, n}) return;
    throw BadInput(directory_.string() + ": tensor " + std::string(name) + " must be " +
                   std::to_string(m) + " x " + std::to_string(n) + ", as config.json implies");
}

std::vector<float> Checkpoint::floats(std::string_view name, std::size_t elements) const {
    const Tensor& stored = tensor(name);
    if (stored.elements() != elements) {
        throw BadInput(directory_.string() + ": tensor " + std::string(name) + " has " +
                       std::to_string(stored.elements()) + " elements, but config.json implies " +
                       std::to_string(elements));
    }
    return to_floats(stored);
}

std::filesystem::path Checkpoint::tokenizer() const {
    const std::filesystem::path path = directory_ / "tokenizer.model";
    return std::filesystem::exists(path) ? path : std::filesystem::path();
}

}  // namespace slip
