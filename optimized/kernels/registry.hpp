// Which backend runs: chosen once per process, by CPU, unless SLIP_KERNELS names one.
#pragma once

#include <span>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

/// Every backend of this build that this CPU can run, slowest first. Tests run on all of them.
std::span<const Backend* const> available();

/// The backend in use: the last of available(), or the one that the environment variable
/// SLIP_KERNELS names. Throws BadInput, listing the names, if it names none of them.
const Backend& active();

}  // namespace slip::kernels
