// Fields of a config.json that several families read alike.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>

#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::importing {

/// PARAM-3: rows and columns of a matrix; the same for positions.
using base::parameters::largest_extent;
/// PARAM-3: a model has at most 4 groups per block, and one for its head.
inline constexpr std::size_t largest_blocks = (base::parameters::largest_group_count - 1) / 4;

/// Whether the field is there with a value: null means what absence means.
bool given(JsonObject& config, const std::string& name);

/// Refuses `name` unless it is absent, null or `value`, which is what the graph computes.
void require_value(JsonObject& config, const std::string& name, const nlohmann::json& value);

/// Refuses `name` if it is absent or none of `allowed`.
void require_one_of(JsonObject& config, const std::string& name,
                    std::initializer_list<const char*> allowed);

std::size_t extent(JsonObject& config, const std::string& name);

/// A positive number within the range of float32.
double positive(JsonObject& config, const std::string& name);

/// BOS, and the tokens that end a text, which may be a list. Where a field is absent, the family's
/// own default holds if the vocabulary has it; -1: it has none.
void parse_special_tokens(JsonObject& config, base::ModelConfig& parsed, TokenId bos, TokenId eos);

/// The hidden size divided among the heads; `name` is the field that says how many there are.
std::size_t equal_heads(JsonObject& config, const base::ModelConfig& parsed,
                        const std::string& name);

/// The names that LLaMA, its relatives and Phi-2 have in common, without the width of a head.
void parse_common_dimensions(JsonObject& config, base::ModelConfig& parsed);

void parse_tied_head(JsonObject& config, base::ModelConfig& parsed, bool otherwise);

}  // namespace slip::importing
