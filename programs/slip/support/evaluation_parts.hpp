// --part and --results of `slip eval`: a part of an evaluation per process.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "programs/common/result_parts.hpp"
#include "programs/slip/support/options.hpp"

namespace slip::tool {

void add_part_flags(Options& options);

/// What `measure` finds for all entries; or, with --results alone, what the parts have found. With
/// --part too, only that part is measured and its file is written: nothing is returned. `request`
/// has what decides the values, but for the model and the engine. Throws BadInput as ResultParts
/// does, and for a flag without the other.
std::optional<Measured> measured_in_parts(
    const Options& options, nlohmann::json request,
    const std::function<Measured(const std::optional<Part>&)>& measure);

}  // namespace slip::tool
