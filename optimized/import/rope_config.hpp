// RoPE as config.json describes it: MODEL-14.
#pragma once

#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {

/// What a family has.
struct RopeChoices {
    double theta = 10000.0;       // where the file names none
    double partial_factor = 1.0;  // the same
    bool partial = false;         // whether the file may name another part than the default
    std::vector<base::RopeScaling::Kind> scalings = {};  // besides none
};

/// Sets `rope` and `rotary_dim` from the fields of transformers 4 (rope_theta, rope_scaling) or 5
/// (rope_parameters). Requires head_dim and max_position_embeddings. Throws BadInput, naming the
/// field, for what is missing, impossible or not among the choices.
void parse_rope(JsonObject& config, const RopeChoices& choices, base::ModelConfig& parsed);
/// The same for Gemma 3, whose layers with a window have a RoPE of their own, `window_rope`
/// (rope_local_base_freq, or an object of its own in rope_parameters).
void parse_rope_by_layer_type(JsonObject& config, const RopeChoices& choices,
                              base::ModelConfig& parsed);

}  // namespace slip::importing
