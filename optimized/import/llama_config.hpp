// config.json of LLaMA and its relatives: MODEL-13.
#pragma once

#include <string>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {

/// The model types that parse_llama() reads.
bool is_llama_type(const std::string& model_type);

/// Throws BadInput, naming the field, for a missing or impossible value and for what this build
/// does not compute.
base::ModelConfig parse_llama(JsonObject& config, const std::string& model_type);

}  // namespace slip::importing
