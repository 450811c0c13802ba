// How measurements are shown: as text, as JSON, as a picture.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "experiments/bench/medians.hpp"

namespace slip::bench {

/// What a figure should reach on a machine with AVX-512 VNNI: a target, not a measurement.
struct Wanted {
    std::string_view name;
    bool at_least = true;  // or at most
    double value = 0;

    /// `found` in parts of what is wanted: 1 and more is reached.
    double reached(double found) const { return at_least ? found / value : value / found; }
};

/// Null if nothing was wanted of the figure.
const Wanted* wanted(std::string_view figure);

/// {"machine": ..., "figures": [{"name", "value"}], "rows": [{"name", "seconds", "per_second",
/// "unit"}]}, and where there are parts "charlie_parts": [{"name", "columns", "ms_per_token",
/// "bound_ms", "bound"}], the last two where there is a bound; the machine with processor, kernels,
/// compiler, OpenSSL and huge pages.
nlohmann::ordered_json json_of(const Report& report, std::size_t repetitions);

/// The rows, then a table of the figures with what was wanted.
void print(const Report& report);

/// An SVG file: the curves in one chart, each figure as a bar in parts of what was wanted, then,
/// where there are no curves, the tokens per second.
/// Throws BadInput if the file cannot be written.
void plot(const Report& report, const std::filesystem::path& file);

}  // namespace slip::bench
