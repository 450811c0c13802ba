// config.json of the families that the graphs know.
#pragma once

#include <filesystem>
#include <string_view>

#include "optimized/base/model_shape.hpp"

namespace slip::importing {

/// Parses the text of a config.json whose model_type is one of MODEL-13's, gpt2 (MODEL-8) or phi
/// (MODEL-9), in the keys of transformers 4 or 5. Throws BadInput, naming `origin`, the field and
/// what was expected, for a missing or impossible value and for what a family has but this build
/// does not: another model_type or activation function, other kinds of RoPE, quantised weights,
/// variants of attention. Fields that do not change what the model computes are not looked at.
base::ModelConfig parse_config(std::string_view json, const std::filesystem::path& origin);

}  // namespace slip::importing
