// Decomposition plans: the paper's triplets [block, layer_type, K] (DECO-6).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "slip/plan.hpp"

namespace slip::artifact {

std::string plan_to_json(const Plan& plan);

/// `--rank K [--blocks A]`: K for every linear layer of every block, or of the first and last A.
Plan uniform_plan(const std::vector<base::GroupShape>& groups, std::size_t rank,
                  std::optional<std::size_t> first_and_last);

/// The rank of each member of each group. Throws BadInput for a triplet that names nothing or a
/// layer twice. A rank above the strategy's largest, min(m, n) - 1 for most, is cut to it; every
/// cut adds a sentence to `notes`. A whole matrix (FMS) has min(m, n) whatever rank the plan gives.
std::vector<std::vector<std::size_t>> ranks_of(const Plan& plan,
                                               const std::vector<base::GroupShape>& groups,
                                               Strategy strategy, std::vector<std::string>& notes);

/// Whether a layer type, or one of a plan, is c_attn.q, c_attn.k or c_attn.v (MODEL-8).
bool names_parts_of_c_attn(const std::string& layer_type);
bool names_parts_of_c_attn(const Plan& plan);

}  // namespace slip::artifact
