#include "optimized/import/rope_config.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "optimized/import/config_fields.hpp"

namespace slip::importing {
namespace {

using base::ModelConfig;
using base::Rope;
using base::RopeScaling;
using Kind = RopeScaling::Kind;
using nlohmann::json;

/// A RoPE and the part of a head that it turns.
struct Fields {
    Rope rope;
    double partial_factor;
};

void read_bases(JsonObject& object, Fields& fields) {
    if (given(object, "rope_theta")) fields.rope.theta = positive(object, "rope_theta");
    if (given(object, "partial_rotary_factor")) {
        fields.partial_factor = positive(object, "partial_rotary_factor");
    }
}

/// The kind that `name`, "rope_type" or "type", says. Phi-3 files have called longrope "su".
Kind kind_named(JsonObject& object, const std::string& name, const RopeChoices& choices) {
    static const std::map<std::string, Kind> kinds{{"default", Kind::none},
                                                   {"linear", Kind::linear},
                                                   {"llama3", Kind::llama3},
                                                   {"longrope", Kind::longrope},
                                                   {"su", Kind::longrope}};
    const std::string text = object.text(name);
    const auto found = kinds.find(text);
    if (found != kinds.end() &&
        (found->second == Kind::none || std::find(choices.scalings.begin(), choices.scalings.end(),
                                                  found->second) != choices.scalings.end())) {
        return found->second;
    }
    std::string allowed = "\"default\"";
    for (const auto& [other, kind] : kinds) {
        if (other != "su" && std::find(choices.scalings.begin(), choices.scalings.end(), kind) !=
                                 choices.scalings.end()) {
            allowed += " or \"" + other + "\"";
        }
    }
    object.refuse(
        name, allowed + "; this build does not scale positions as " + json(text).dump() + " does");
}

Kind kind_of(JsonObject& object, const RopeChoices& choices) {
    std::optional<Kind> kind;
    for (const char* name : {"rope_type", "type"}) {
        if (!object.has(name)) continue;
        const Kind named = kind_named(object, name, choices);
        if (kind && *kind != named) object.refuse(name, "the same as \"rope_type\"");
        kind = named;
    }
    return kind.value_or(Kind::none);
}

std::vector<double> factors(JsonObject& object, const std::string& name) {
    std::vector<double> values;
    for (const json& value : object.array(name)) {
        const bool good = value.is_number() && value.get<double>() > 0 &&
                          std::isfinite(static_cast<float>(value.get<double>()));
        if (!good) object.refuse(name, "positive numbers");
        values.push_back(value.get<double>());
    }
    return values;
}

void read_llama3(JsonObject& object, RopeScaling& scaling) {
    scaling.factor = positive(object, "factor");
    scaling.low_frequency_factor = positive(object, "low_freq_factor");
    scaling.high_frequency_factor = positive(object, "high_freq_factor");
    scaling.original_positions =
        object.integer("original_max_position_embeddings", 1, largest_extent);
    if (!(scaling.high_frequency_factor > scaling.low_frequency_factor)) {
        object.refuse("high_freq_factor", "more than low_freq_factor");
    }
}

/// The context of the short factors stands beside or inside the object.
std::size_t original_positions(JsonObject& config, JsonObject& object) {
    const std::string name = "original_max_position_embeddings";
    JsonObject& first = given(object, name) ? object : config;
    const std::size_t positions = first.integer(name, 2, largest_extent);
    if (given(config, name) && config.integer(name, 2, largest_extent) != positions) {
        object.refuse(name, "the same as the configuration's");
    }
    return positions;
}

void read_longrope(JsonObject& config, JsonObject& object, std::size_t positions,
                   RopeScaling& scaling) {
    if (object.has("factor")) {
        object.refuse("factor", "it to be absent: implementations read it in different ways");
    }
    scaling.original_positions = original_positions(config, object);
    scaling.short_factors = factors(object, "short_factor");
    scaling.long_factors = factors(object, "long_factor");
    const auto original = static_cast<double>(scaling.original_positions);
    const double growth = static_cast<double>(positions) / original;
    scaling.attention_factor =
        growth <= 1 ? 1.0 : std::sqrt(1 + std::log(growth) / std::log(original));
    if (given(object, "attention_factor")) {
        scaling.attention_factor = positive(object, "attention_factor");
    }
}

/// Reads one object of RoPE's fields into `fields`.
void read_object(JsonObject& config, JsonObject object, const RopeChoices& choices,
                 std::size_t positions, Fields& fields) {
    RopeScaling& scaling = fields.rope.scaling;
    scaling = {};
    scaling.kind = kind_of(object, choices);
    switch (scaling.kind) {
        case Kind::none:
            break;
        case Kind::linear:
            scaling.factor = positive(object, "factor");
            break;
        case Kind::llama3:
            read_llama3(object, scaling);
            break;
        case Kind::longrope:
            read_longrope(config, object, positions, scaling);
            break;
    }
    read_bases(object, fields);
    object.refuse_unknown_fields();
}

/// rotary_dim as Hugging Face has it: the product, cut to an integer.
std::size_t rotary_dim(JsonObject& config, const RopeChoices& choices, double factor,
                       std::size_t head_dim) {
    if (factor > 1) config.refuse("partial_rotary_factor", "at most 1");
    if (!choices.partial && factor != choices.partial_factor) {
        config.refuse("partial_rotary_factor", "it to be absent or 1");
    }
    const auto turned = static_cast<std::size_t>(factor * static_cast<double>(head_dim));
    if (turned == 0 || turned % 2 != 0) {
        config.refuse(factor == 1 ? "head_dim" : "partial_rotary_factor",
                      "an even number of elements to turn");
    }
    return turned;
}

void require_factor_per_frequency(JsonObject& config, const RopeScaling& scaling,
                                  std::size_t rotary_dim) {
    if (scaling.kind != Kind::longrope) return;
    const std::string expected =
        std::to_string(rotary_dim / 2) + " factors, one for each pair of elements that turn";
    if (scaling.short_factors.size() != rotary_dim / 2) config.refuse("short_factor", expected);
    if (scaling.long_factors.size() != rotary_dim / 2) config.refuse("long_factor", expected);
}

void finish(JsonObject& config, const RopeChoices& choices, const Fields& fields,
            ModelConfig& parsed) {
    parsed.rope = fields.rope;
    parsed.rotary_dim = rotary_dim(config, choices, fields.partial_factor, parsed.head_dim);
    require_factor_per_frequency(config, parsed.rope.scaling, parsed.rotary_dim);
}

}  // namespace

void parse_rope(JsonObject& config, const RopeChoices& choices, ModelConfig& parsed) {
    Fields fields{{choices.theta, {}}, choices.partial_factor};
    read_bases(config, fields);
    std::optional<RopeScaling> first;
    for (const char* name : {"rope_scaling", "rope_parameters"}) {
        if (!given(config, name) || config.field(name) == false) continue;
        read_object(config, config.object(name), choices, parsed.max_position_embeddings, fields);
        if (first && !(*first == fields.rope.scaling)) {
            config.refuse("rope_scaling", "the scaling of rope_parameters, if it is there too");
        }
        first = fields.rope.scaling;
    }
    finish(config, choices, fields, parsed);
}

void parse_rope_by_layer_type(JsonObject& config, const RopeChoices& choices, ModelConfig& parsed) {
    const std::size_t positions = parsed.max_position_embeddings;
    Fields global{{choices.theta, {}}, choices.partial_factor};
    Fields sliding{{10000.0, {}}, choices.partial_factor};
    if (given(config, "rope_parameters")) {
        JsonObject types = config.object("rope_parameters");
        read_object(config, types.object("full_attention"), choices, positions, global);
        read_object(config, types.object("sliding_attention"), choices, positions, sliding);
        types.refuse_unknown_fields();
        if (sliding.partial_factor != global.partial_factor) {
            config.refuse("rope_parameters", "the same partial_rotary_factor of all layers");
        }
    } else {
        read_bases(config, global);
        if (given(config, "rope_local_base_freq")) {
            sliding.rope.theta = positive(config, "rope_local_base_freq");
        }
        if (given(config, "rope_scaling")) {
            read_object(config, config.object("rope_scaling"), choices, positions, global);
        }
    }
    finish(config, choices, global, parsed);
    if (!(sliding.rope == parsed.rope)) parsed.window_rope = sliding.rope;
}

}  // namespace slip::importing
