#include "optimized/import/config_fields.hpp"

#include <cmath>
#include <vector>

namespace slip::importing {
namespace {

using base::ModelConfig;
using nlohmann::json;

TokenId token_id(const JsonObject& config, const std::string& name, const json& value,
                 const ModelConfig& parsed) {
    const bool inside = value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
                        value.get<std::uint64_t>() < parsed.vocab_size;
    if (!inside) config.refuse(name, "a token id of the vocabulary");
    return value.get<TokenId>();
}

std::vector<TokenId> token_ids(JsonObject& config, const std::string& name,
                               const ModelConfig& parsed, TokenId otherwise) {
    if (!config.has(name)) {
        const bool inside =
            otherwise >= 0 && static_cast<std::size_t>(otherwise) < parsed.vocab_size;
        return inside ? std::vector{otherwise} : std::vector<TokenId>{};
    }
    const json& field = config.field(name);
    if (field.is_null()) return {};
    if (!field.is_array() || field.empty()) return {token_id(config, name, field, parsed)};
    std::vector<TokenId> ids;
    for (const json& value : field) ids.push_back(token_id(config, name, value, parsed));
    return ids;
}

}  // namespace

bool given(JsonObject& config, const std::string& name) {
    return config.has(name) && !config.field(name).is_null();
}

void require_value(JsonObject& config, const std::string& name, const json& value) {
    if (!given(config, name) || config.field(name) == value) return;
    config.refuse(name, "it to be absent, null or " + value.dump() +
                            "; this build has no support for " + config.field(name).dump());
}

void require_one_of(JsonObject& config, const std::string& name,
                    std::initializer_list<const char*> allowed) {
    const std::string found = config.text(name);
    std::string list;
    for (const char* value : allowed) {
        if (found == value) return;
        list += std::string(list.empty() ? "" : " or ") + "\"" + value + "\"";
    }
    config.refuse(name, list + ", not " + json(found).dump());
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

void parse_special_tokens(JsonObject& config, ModelConfig& parsed, TokenId bos, TokenId eos) {
    const std::vector<TokenId> first = token_ids(config, "bos_token_id", parsed, bos);
    const std::vector<TokenId> last = token_ids(config, "eos_token_id", parsed, eos);
    if (!first.empty()) parsed.bos_token_id = first.front();
    if (last.empty()) return;
    parsed.eos_token_id = last.front();
    parsed.further_eos_token_ids.assign(last.begin() + 1, last.end());
}

std::size_t equal_heads(JsonObject& config, const ModelConfig& parsed, const std::string& name) {
    if (parsed.hidden_size % parsed.num_attention_heads != 0) {
        config.refuse(name, "a divisor of the hidden size");
    }
    return parsed.hidden_size / parsed.num_attention_heads;
}

void parse_common_dimensions(JsonObject& config, ModelConfig& parsed) {
    parsed.hidden_size = extent(config, "hidden_size");
    parsed.intermediate_size = extent(config, "intermediate_size");
    parsed.num_hidden_layers = config.integer("num_hidden_layers", 1, largest_blocks);
    parsed.vocab_size = extent(config, "vocab_size");
    parsed.max_position_embeddings = extent(config, "max_position_embeddings");
    const std::size_t heads = config.integer("num_attention_heads", 1, largest_extent);
    parsed.num_attention_heads = heads;
    parsed.num_key_value_heads = given(config, "num_key_value_heads")
                                     ? config.integer("num_key_value_heads", 1, heads)
                                     : heads;
    if (heads % parsed.num_key_value_heads != 0) {
        config.refuse("num_key_value_heads", "a divisor of num_attention_heads");
    }
}

void parse_tied_head(JsonObject& config, ModelConfig& parsed, bool otherwise) {
    parsed.tie_word_embeddings =
        given(config, "tie_word_embeddings") ? config.boolean("tie_word_embeddings") : otherwise;
}

}  // namespace slip::importing
