// MODEL-19: configurations of GGUF files.
#include "optimized/import/gguf_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/gguf_architectures.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/tensors.hpp"

namespace slip::importing {
namespace {

using base::parameters::largest_extent;
using nlohmann::json;
using nlohmann::ordered_json;

/// The metadata of one architecture, every key of which must be asked for, and the tensors that
/// belong to the configuration.
class Source {
public:
    Source(const GgufHeader& header, const std::filesystem::path& origin)
        : header_(header),
          origin_(origin),
          object_(header.metadata, origin, "metadata"),
          prefix_(object_.text("general.architecture") + ".") {}

    JsonObject& all() { return object_; }
    bool has(const std::string& name) {
        known_.insert(prefix_ + name);
        return object_.has(prefix_ + name);
    }
    std::size_t integer(const std::string& name, std::size_t least = 1,
                        std::size_t most = largest_extent) {
        known_.insert(prefix_ + name);
        return object_.integer(prefix_ + name, least, most);
    }
    double number(const std::string& name) {
        known_.insert(prefix_ + name);
        return object_.number(prefix_ + name);
    }
    double number_or(const std::string& name, double otherwise) {
        return has(name) ? number(name) : otherwise;
    }
    /// Refuses the key unless it is absent or `value`.
    void require(const std::string& name, const json& value) {
        if (has(name) && object_.field(prefix_ + name) != value) {
            object_.refuse(prefix_ + name, "it to be absent or " + value.dump());
        }
    }
    void refuse_unknown() const {
        for (const auto& [name, value] : header_.metadata.items()) {
            if (!name.starts_with(prefix_) || known_.count(name) != 0) continue;
            object_.refuse(name, "no such key: it may change what the model computes");
        }
    }

    const GgufTensor* tensor(std::string_view name) const {
        const auto found = header_.tensors.find(name);
        return found == header_.tensors.end() ? nullptr : &found->second;
    }
    /// The values of a tensor that is there; none if it is not of F32.
    std::vector<float> floats(std::string_view name) const {
        const GgufTensor& stored = *tensor(name);
        if (stored.type != GgufType::f32) return {};
        return to_floats({std::string(name), DType::f32, stored.shape, stored.bytes}, false);
    }
    [[noreturn]] void refuse_tensor(std::string_view name, const std::string& expected) const {
        throw BadInput(origin_.string() + ": tensor " + std::string(name) + ": expected " +
                       expected);
    }

private:
    const GgufHeader& header_;
    const std::filesystem::path& origin_;
    JsonObject object_;
    std::string prefix_;
    std::set<std::string> known_;
};

/// The rows of the embedding.
std::size_t vocabulary_size(const Source& source) {
    const GgufTensor* embedding = source.tensor(gguf_embedding);
    if (embedding == nullptr || embedding->shape.size() != 2) {
        source.refuse_tensor(gguf_embedding, "a matrix");
    }
    return embedding->shape[0];
}

/// What the families from LLaMA to Phi-2 call alike. Returns the width of a head.
std::size_t add_dimensions(Source& source, ordered_json& config) {
    const std::size_t hidden = source.integer("embedding_length");
    config["hidden_size"] = hidden;
    config["intermediate_size"] = source.integer("feed_forward_length");
    config["num_hidden_layers"] = source.integer("block_count");
    config["max_position_embeddings"] = source.integer("context_length");
    const std::size_t heads = source.integer("attention.head_count");
    config["num_attention_heads"] = heads;
    config["num_key_value_heads"] =
        source.has("attention.head_count_kv") ? source.integer("attention.head_count_kv") : heads;
    const std::size_t width = source.has("attention.key_length")
                                  ? source.integer("attention.key_length")
                                  : hidden / heads;
    source.require("attention.value_length", width);
    return width;
}

void add_rms_epsilon(Source& source, ordered_json& config) {
    config["rms_norm_eps"] = source.number("attention.layer_norm_rms_epsilon");
}

/// What divides the frequency of component `i` in Llama 3's scaling with this factor (MODEL-14).
double llama3_divisor(std::size_t i, std::size_t width, double base, double factor) {
    constexpr double original = 8192;
    constexpr double low = 1;
    constexpr double high = 4;
    const double frequency =
        std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    const double turns = original * frequency / (2 * std::numbers::pi);
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return 1 / ((1 - kept) / factor + kept);
}

/// A file holds the divisors, and not the parameters that they come from: those of Llama 3.1 and of
/// Llama 3.2 are tried.
void add_frequencies(const Source& source, std::size_t width, ordered_json& config) {
    if (source.tensor(gguf_frequencies) == nullptr) return;
    const std::vector<float> divisors = source.floats(gguf_frequencies);
    for (const double factor : {8.0, 32.0}) {
        bool equal = divisors.size() == width / 2 && !divisors.empty();
        for (std::size_t i = 0; equal && i < divisors.size(); ++i) {
            const double wanted = llama3_divisor(i, width, config.at("rope_theta"), factor);
            equal = std::abs(divisors[i] / wanted - 1) < 1e-4;
        }
        if (!equal) continue;
        config["rope_scaling"] = {{"rope_type", "llama3"},
                                  {"factor", factor},
                                  {"low_freq_factor", 1.0},
                                  {"high_freq_factor", 4.0},
                                  {"original_max_position_embeddings", 8192}};
        return;
    }
    source.refuse_tensor(gguf_frequencies, "the frequencies of Llama 3.1 or Llama 3.2");
}

void configure_llama(Source& source, ordered_json& config) {
    const std::size_t width = add_dimensions(source, config);
    if (source.has("attention.key_length")) config["head_dim"] = width;
    source.require("rope.dimension_count", width);
    source.require("rope.scaling.type", "none");
    add_rms_epsilon(source, config);
    config["rope_theta"] = source.number_or("rope.freq_base", 1e4);
    add_frequencies(source, width, config);
}

/// The part of a head that RoPE turns, as the share whose product with the width is that part.
void add_partial_rotation(Source& source, std::size_t width, ordered_json& config) {
    if (!source.has("rope.dimension_count")) return;
    const std::size_t turned = source.integer("rope.dimension_count", 1, width);
    double share = static_cast<double>(turned) / static_cast<double>(width);
    if (static_cast<std::size_t>(share * static_cast<double>(width)) < turned) {
        share = std::nextafter(share, 1.0);
    }
    config["partial_rotary_factor"] = share;
}

/// Longrope, if the file has its factors; else its keys mean nothing.
void add_factors(Source& source, ordered_json& config) {
    const char* original = "rope.scaling.original_context_length";
    const char* attention = "rope.scaling.attn_factor";
    if (source.has(original)) config["original_max_position_embeddings"] = source.integer(original);
    const bool has_short = source.tensor(gguf_short_factors) != nullptr;
    const bool has_long = source.tensor(gguf_long_factors) != nullptr;
    if (!has_short && !has_long) {
        source.require("rope.scaling.type", "none");
        source.require(attention, 1.0);
        return;
    }
    if (!has_long) source.refuse_tensor(gguf_long_factors, "it beside the short factors");
    if (!has_short) source.refuse_tensor(gguf_short_factors, "it beside the long factors");
    ordered_json scaling = {{"rope_type", "longrope"},
                            {"short_factor", source.floats(gguf_short_factors)},
                            {"long_factor", source.floats(gguf_long_factors)}};
    source.integer(original);  // must be there
    source.require("rope.scaling.type", "longrope");
    if (source.has(attention)) scaling["attention_factor"] = source.number(attention);
    config["rope_scaling"] = scaling;
}

void configure_phi3(Source& source, ordered_json& config) {
    const std::size_t width = add_dimensions(source, config);
    config["head_dim"] = width;
    add_rms_epsilon(source, config);
    config["rope_theta"] = source.number_or("rope.freq_base", 1e4);
    add_partial_rotation(source, width, config);
    add_factors(source, config);
    const char* window = "attention.sliding_window";  // 0: none
    config["sliding_window"] = nullptr;
    if (source.has(window) && source.integer(window, 0) > 0) {
        config["sliding_window"] = source.integer(window);
    }
}

/// What both have. A file does not say what scores are divided by: the root of a head's width, but
/// for the largest models, those of `blocks_of_largest` blocks, that of hidden_size / heads.
void add_gemma(Source& source, std::size_t blocks_of_largest, ordered_json& config) {
    const std::size_t width = add_dimensions(source, config);
    config["head_dim"] = width;
    source.require("rope.dimension_count", width);
    source.require("rope.dimension_count_swa", width);
    add_rms_epsilon(source, config);
    const bool largest = config.at("num_hidden_layers") == blocks_of_largest;
    const std::size_t shared = config.at("hidden_size").get<std::size_t>() /
                               config.at("num_attention_heads").get<std::size_t>();
    config["query_pre_attn_scalar"] = largest ? shared : width;
    if (source.has("final_logit_softcapping")) {
        config["final_logit_softcapping"] = source.number("final_logit_softcapping");
    }
}

void configure_gemma2(Source& source, ordered_json& config) {
    add_gemma(source, 46, config);
    const char* window = "attention.sliding_window";
    config["sliding_window"] = source.has(window) ? source.integer(window) : 4096;
    source.require("attention.sliding_window_pattern", 2);
    if (source.has("attn_logit_softcapping")) {
        config["attn_logit_softcapping"] = source.number("attn_logit_softcapping");
    }
    config["rope_theta"] = source.number_or("rope.freq_base", 1e4);
    source.require("rope.freq_base_swa", config["rope_theta"]);
    source.require("rope.scaling.type", "none");
}

void configure_gemma3(Source& source, ordered_json& config) {
    add_gemma(source, 62, config);
    config["sliding_window"] = source.integer("attention.sliding_window");
    const char* pattern = "attention.sliding_window_pattern";
    if (source.has(pattern)) config["sliding_window_pattern"] = source.integer(pattern);
    config["rope_theta"] = source.number("rope.freq_base");
    config["rope_local_base_freq"] = source.number_or("rope.freq_base_swa", 1e4);
    if (source.has("rope.scaling.factor")) {
        source.require("rope.scaling.type", "linear");
        config["rope_scaling"] = {{"rope_type", "linear"},
                                  {"factor", source.number("rope.scaling.factor")}};
    } else {
        source.require("rope.scaling.type", "none");
    }
}

void configure_gpt2(Source& source, ordered_json& config) {
    config["n_embd"] = source.integer("embedding_length");
    config["n_inner"] = source.integer("feed_forward_length");
    config["n_layer"] = source.integer("block_count");
    config["n_positions"] = source.integer("context_length");
    config["n_head"] = source.integer("attention.head_count");
    source.require("attention.head_count_kv", config["n_head"]);
    config["layer_norm_epsilon"] = source.number("attention.layer_norm_epsilon");
}

void configure_phi2(Source& source, ordered_json& config) {
    const std::size_t width = add_dimensions(source, config);
    source.require("attention.key_length", config.at("hidden_size").get<std::size_t>() /
                                               config.at("num_attention_heads").get<std::size_t>());
    config["layer_norm_eps"] = source.number("attention.layer_norm_epsilon");
    config["rope_theta"] = source.number_or("rope.freq_base", 1e4);
    config["partial_rotary_factor"] = 1.0;
    add_partial_rotation(source, width, config);
    source.require("rope.scaling.type", "none");
}

using Configure = void (*)(Source&, ordered_json&);
constexpr std::array<std::pair<std::string_view, Configure>, 8> configurations{
    {{"llama", configure_llama},
     {"qwen2", configure_llama},
     {"qwen3", configure_llama},
     {"phi3", configure_phi3},
     {"gemma2", configure_gemma2},
     {"gemma3", configure_gemma3},
     {"gpt2", configure_gpt2},
     {"phi2", configure_phi2}}};

void add_special_tokens(Source& source, ordered_json& config) {
    for (const char* name : {"bos_token_id", "eos_token_id"}) {
        const std::string key = std::string("tokenizer.ggml.") + name;
        config[name] = nullptr;
        if (source.all().has(key)) {
            config[name] = source.all().integer(key, 0, largest_extent - 1);
        }
    }
}

}  // namespace

std::string gguf_config(const GgufHeader& header, const std::filesystem::path& origin) {
    const GgufArchitecture& architecture = gguf_architecture(header, origin);
    Source source(header, origin);
    ordered_json config;
    config["model_type"] = architecture.model_type;
    for (const auto& [name, configure] : configurations) {
        if (name == architecture.name) configure(source, config);
    }
    config["vocab_size"] = vocabulary_size(source);
    source.require("vocab_size", config["vocab_size"]);
    config["tie_word_embeddings"] = source.tensor(gguf_head) == nullptr;
    add_special_tokens(source, config);
    source.require("expert_count", 0);
    source.require("expert_used_count", 0);
    source.refuse_unknown();
    return config.dump(1);
}

std::vector<float> rows_in_halves(const std::vector<float>& pairs, std::size_t heads,
                                  std::size_t columns) {
    const std::size_t rows = columns == 0 ? 0 : pairs.size() / columns;
    if (heads == 0 || rows % (2 * heads) != 0) {
        throw BadInput("a query or key matrix of " + std::to_string(rows) + " rows has not " +
                       std::to_string(heads) + " heads with an even number of rows each");
    }
    const std::size_t width = rows / heads;
    std::vector<float> halves(pairs.size());
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t in_head = row % width;
        const std::size_t target = row - in_head + in_head / 2 + (in_head % 2) * (width / 2);
        std::copy_n(pairs.begin() + static_cast<std::ptrdiff_t>(row * columns), columns,
                    halves.begin() + static_cast<std::ptrdiff_t>(target * columns));
    }
    return halves;
}

}  // namespace slip::importing
