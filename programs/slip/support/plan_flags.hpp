// Which layers are split, and at which rank, on the command line.
#pragma once

#include <cstdint>
#include <filesystem>

#include "programs/slip/support/options.hpp"
#include "slip/plan.hpp"

namespace slip::tool {

inline constexpr std::uint64_t largest_rank = std::uint64_t{1} << 20;  // PARAM-3

/// Declares --plan, --rank and --blocks.
void add_plan_flags(Options& options);

/// Throws BadInput for --rank or --blocks beside --plan, and for wrong numbers. Opens no file.
void require_plan_flags(const Options& options);

/// What the flags say for the checkpoint `model`. Throws BadInput for a plan that leaves
/// him all of it.
Plan plan_of(const Options& options, const std::filesystem::path& model);

}  // namespace slip::tool
