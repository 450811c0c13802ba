// Which backend runs: the one that belongs to the kernels' (optimized/kernels/registry.hpp).
#pragma once

#include <span>

#include "optimized/masks/contracts.hpp"

namespace slip::masks {

/// Every backend of this build that this CPU can run, slowest first. Tests run on all of them.
std::span<const Backend* const> available();

/// The backend of the same name as kernels::active(), so that SLIP_KERNELS chooses both; the
/// portable one if this CPU has none of that name. Throws as kernels::active().
const Backend& active();

/// The roots of unity that every backend multiplies with.
const Roots& roots();

}  // namespace slip::masks
