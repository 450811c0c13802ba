// Which David gets which blocks of a model (MODEL-22).
#pragma once

#include <cstddef>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::splitting {

/// How many groups each of `shards` Davids gets, in the order of the groups: whole blocks, so that
/// the bytes of the largest shard are as few as can be. Throws BadInput if the model has fewer
/// blocks, its head counted as one, than shards.
std::vector<std::size_t> groups_of_shards(const std::vector<base::GroupShape>& groups,
                                          const base::parameters::ParameterSet& set,
                                          std::size_t shards);

}  // namespace slip::splitting
