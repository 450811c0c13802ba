// Which layers are split, and at which rank: spec/decomposition.md, DECO-6.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "slip/export.hpp"

namespace SLIP_API slip {

/// The paper's triplet [block, layer_type, K] (DECO-6): the rank of one layer.
struct PlanTriplet {
    std::optional<std::size_t> block;  ///< JSON null for layers outside the blocks
    std::string layer_type;            ///< e.g. "q_proj" or "lm_head"
    std::size_t rank = 0;              ///< K
    /// Equal block, type and rank.
    friend bool operator==(const PlanTriplet&, const PlanTriplet&) = default;
};

/// A decomposition plan. What it does not name has rank 0: David holds it whole.
using Plan = std::vector<PlanTriplet>;

/// A JSON array of triplets. Throws BadInput, naming the file and the triplet.
[[nodiscard]] Plan read_plan(const std::filesystem::path& path);

}  // namespace slip
