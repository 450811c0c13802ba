// Which tensors the files of a split have (MODEL-7).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip::splitting {

using Ranks = std::vector<std::vector<std::size_t>>;  // of each group's members

/// The checkpoint's name of a member's tensor.
std::string checkpoint_name(const base::MemberShape& member);

/// A tied head multiplies by the embedding, which Charlie needs as well, to look tokens up.
bool stays_with_charlie(const base::MemberShape& member, const importing::Checkpoint& checkpoint);

/// The tensors that are not offloaded, and those that stay although they are.
std::vector<importing::Tensor> parameters_of(const importing::Checkpoint& checkpoint,
                                             const std::vector<base::GroupShape>& groups);

/// The tensors of charlie.safetensors. Throws BadInput where a tensor of the checkpoint has a
/// factor's name.
std::vector<importing::Tensor> charlie_tensors(const std::vector<importing::Tensor>& parameters,
                                               const std::vector<base::GroupShape>& groups,
                                               const Ranks& ranks,
                                               const base::parameters::ParameterSet& set);
std::vector<importing::Tensor> david_tensors(std::span<const base::GroupShape> groups,
                                             const base::parameters::ParameterSet& set);
std::vector<importing::Tensor> check_tensors(const std::vector<base::GroupShape>& groups,
                                             const base::parameters::ParameterSet& set);
/// Empty for a set without lattice masks. `sealed`: with salts and tags (MODEL-20).
std::vector<importing::Tensor> mask_tensors(const std::vector<base::GroupShape>& groups,
                                            const base::parameters::ParameterSet& set, bool sealed);

}  // namespace slip::splitting
