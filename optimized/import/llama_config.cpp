#include "optimized/import/llama_config.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "optimized/import/config_fields.hpp"
#include "optimized/import/rope_config.hpp"

namespace slip::importing {
namespace {

using base::GateActivation;
using base::ModelConfig;
using Kind = base::RopeScaling::Kind;
using nlohmann::json;

/// What distinguishes a family, and what it does where a field is absent.
struct Relative {
    enum class Windows {
        none,
        every_layer,
        from_max_window_layers,  // if use_sliding_window says so
        even_layers,
        all_but_every_nth,  // n = sliding_window_pattern
    };
    TokenId bos = -1, eos = -1;  // -1: none
    std::size_t head_dim = 0;    // 0: hidden_size / num_attention_heads
    Windows windows = Windows::none;
    std::size_t window = 0;  // 0: none
    bool biases = false;
    bool head_norms = false;
    bool stacked = false;
    bool gemma = false;
    bool bos_before_text = true;
};

const std::map<std::string, Relative>& relatives() {
    using Windows = Relative::Windows;
    static const std::map<std::string, Relative> all{
        {"llama", {.bos = 1, .eos = 2}},
        {"mistral", {.bos = 1, .eos = 2, .windows = Windows::every_layer, .window = 4096}},
        {"qwen2",
         {.windows = Windows::from_max_window_layers,
          .window = 4096,
          .biases = true,
          .bos_before_text = false}},
        {"qwen3",
         {.head_dim = 128,
          .windows = Windows::from_max_window_layers,
          .window = 4096,
          .head_norms = true,
          .bos_before_text = false}},
        {"phi3",
         {.bos = 1,
          .eos = 32000,
          .windows = Windows::every_layer,
          .stacked = true,
          .bos_before_text = false}},
        {"gemma2",
         {.bos = 2,
          .eos = 1,
          .head_dim = 256,
          .windows = Windows::even_layers,
          .window = 4096,
          .gemma = true}},
        {"gemma3_text",
         {.bos = 2,
          .eos = 1,
          .head_dim = 256,
          .windows = Windows::all_but_every_nth,
          .window = 4096,
          .head_norms = true,
          .gemma = true}}};
    return all;
}

/// What some files of these families say and no graph computes.
void refuse_variants(JsonObject& config, const Relative& family) {
    // Qwen2's q, k and v have biases whatever attention_bias says.
    if (!family.biases) require_value(config, "attention_bias", false);
    for (const char* name : {"mlp_bias", "lm_head_bias", "rope_interleaved", "use_mrope",
                             "use_bidirectional_attention"}) {
        require_value(config, name, false);
    }
    for (const char* name : {"full_attn_mod", "interpolate_factor"}) require_value(config, name, 1);
}

void parse_activation(JsonObject& config, const Relative& family, ModelConfig& parsed) {
    if (family.gemma) {  // hidden_act is a leftover
        if (given(config, "hidden_activation")) {
            require_one_of(config, "hidden_activation", {"gelu_pytorch_tanh"});
        }
        parsed.gate_activation = GateActivation::gelu_tanh;
    } else if (given(config, "hidden_act")) {
        require_one_of(config, "hidden_act", {"silu"});
    }
}

void parse_head_dim(JsonObject& config, const Relative& family, ModelConfig& parsed) {
    if (given(config, "head_dim")) {
        parsed.head_dim = extent(config, "head_dim");
    } else {
        parsed.head_dim = family.head_dim > 0 ? family.head_dim
                                              : equal_heads(config, parsed, "num_attention_heads");
    }
    // Of a stacked tensor, q, k and v together.
    const std::size_t heads =
        parsed.num_attention_heads + (family.stacked ? 2 * parsed.num_key_value_heads : 0);
    if (parsed.head_dim > largest_extent / heads) {
        config.refuse("head_dim", "at most 2^20 rows in all heads");
    }
    if (family.stacked && parsed.intermediate_size > largest_extent / 2) {
        config.refuse("intermediate_size", "at most 2^20 rows of gate and up together");
    }
}

/// Whether each layer has a window by the family's own rule.
std::vector<bool> sliding_layers(JsonObject& config, const Relative& family, bool has_window,
                                 std::size_t layers) {
    using Windows = Relative::Windows;
    std::vector<bool> slides(layers, false);
    switch (family.windows) {
        case Windows::none:
            break;
        case Windows::every_layer:
            slides.assign(layers, has_window);
            break;
        case Windows::from_max_window_layers: {
            if (!has_window) break;
            const std::size_t first = config.integer("max_window_layers", 0, largest_blocks);
            for (std::size_t i = first; i < layers; ++i) slides[i] = true;
            break;
        }
        case Windows::even_layers:
            for (std::size_t i = 0; i < layers; i += 2) slides[i] = true;
            break;
        case Windows::all_but_every_nth: {
            const char* name = "sliding_window_pattern";
            const std::size_t n = given(config, name) ? config.integer(name, 1, largest_blocks) : 6;
            for (std::size_t i = 0; i < layers; ++i) slides[i] = (i + 1) % n != 0;
            break;
        }
    }
    return slides;
}

/// Replaces the family's own rule by layer_types where the family reads them; elsewhere they must
/// say what the family does.
void read_layer_types(JsonObject& config, const Relative& family, std::vector<bool>& slides) {
    if (!given(config, "layer_types")) return;
    const json& types = config.array("layer_types");
    if (types.size() != slides.size()) {
        config.refuse("layer_types", "one for each of the num_hidden_layers layers");
    }
    const bool decide = family.windows != Relative::Windows::none &&
                        family.windows != Relative::Windows::every_layer;
    for (std::size_t i = 0; i < slides.size(); ++i) {
        const std::string type = types[i].is_string() ? types[i].get<std::string>() : "";
        const bool sliding = type == "sliding_attention";
        if ((!sliding && type != "full_attention") || (!decide && sliding != slides[i])) {
            config.refuse("layer_types",
                          std::string("\"full_attention\" or \"sliding_attention\"") +
                              (decide ? "" : ", as this model_type computes") + ", not " +
                              types[i].dump());
        }
        slides[i] = sliding;
    }
}

void parse_windows(JsonObject& config, const Relative& family, ModelConfig& parsed) {
    std::size_t window = config.has("sliding_window") ? 0 : family.window;  // 0: none
    if (family.windows != Relative::Windows::none && given(config, "sliding_window")) {
        window = extent(config, "sliding_window");
    }
    if (family.windows == Relative::Windows::from_max_window_layers &&
        !(given(config, "use_sliding_window") && config.boolean("use_sliding_window"))) {
        window = 0;
    }
    std::vector<bool> slides = sliding_layers(config, family, window > 0, parsed.num_hidden_layers);
    read_layer_types(config, family, slides);
    if (std::find(slides.begin(), slides.end(), true) == slides.end()) return;
    if (window == 0) config.refuse("sliding_window", "the window of the layers that slide");
    for (const bool slide : slides) parsed.windows.push_back(slide ? window : 0);
}

/// A number that the family has unless the file says null.
std::optional<double> cap(JsonObject& config, const std::string& name,
                          std::optional<double> otherwise) {
    if (!config.has(name)) return otherwise;
    if (config.field(name).is_null()) return std::nullopt;
    return positive(config, name);
}

void parse_gemma(JsonObject& config, bool caps, ModelConfig& parsed) {
    parsed.norm_weight_plus_one = true;
    parsed.branch_norms = true;
    parsed.embedding_scale = std::sqrt(static_cast<double>(parsed.hidden_size));
    parsed.query_scalar =
        given(config, "query_pre_attn_scalar") ? positive(config, "query_pre_attn_scalar") : 256;
    // Gemma 3 has no cap of scores, whatever its file says.
    if (caps) parsed.score_cap = cap(config, "attn_logit_softcapping", 50.0);
    parsed.logit_cap =
        cap(config, "final_logit_softcapping", caps ? std::optional(30.0) : std::nullopt);
}

void parse_rope_of(JsonObject& config, const std::string& model_type, ModelConfig& parsed) {
    if (model_type == "phi3") {
        parse_rope(config, {.partial = true, .scalings = {Kind::linear, Kind::longrope}}, parsed);
    } else if (model_type == "gemma3_text") {
        parse_rope_by_layer_type(
            config, {.theta = 1'000'000.0, .scalings = {Kind::linear, Kind::llama3}}, parsed);
    } else {
        parse_rope(config, {.scalings = {Kind::linear, Kind::llama3}}, parsed);
    }
}

}  // namespace

bool is_llama_type(const std::string& model_type) { return relatives().count(model_type) != 0; }

ModelConfig parse_llama(JsonObject& config, const std::string& model_type) {
    const Relative& family = relatives().at(model_type);
    ModelConfig parsed;
    parsed.query_key_value_biases = family.biases;
    parsed.head_norms = family.head_norms;
    parsed.stacked_tensors = family.stacked;
    parsed.bos_before_text = family.bos_before_text;
    refuse_variants(config, family);
    parse_activation(config, family, parsed);
    parse_common_dimensions(config, parsed);
    parse_head_dim(config, family, parsed);
    parsed.norm_eps = static_cast<float>(positive(config, "rms_norm_eps"));
    parse_rope_of(config, model_type, parsed);
    parse_windows(config, family, parsed);
    if (family.gemma) parse_gemma(config, model_type == "gemma2", parsed);
    parse_tied_head(config, parsed, family.gemma);
    parse_special_tokens(config, parsed, family.bos, family.eos);
    return parsed;
}

}  // namespace slip::importing
