// The measurements of `spectra`: each returns its settings and its result, as one JSON object on
// standard output has them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/spectra/model.hpp"

namespace slip::spectra {

struct Measurement {
    nlohmann::ordered_json settings;
    nlohmann::ordered_json result;
};

/// A text and how much of it is read.
struct Text {
    std::filesystem::path file;
    std::size_t tokens = 0;
};

/// By layer type, for j = 1, ..., min(m, n): sigma_j / sigma_1, the mean over the blocks and the
/// least and the most.
Measurement decay(const Model& model);

/// Perplexity without windows of `widths` consecutive blocks, wherever they fit. The widths are
/// odd, so that a window has a block in its middle.
Measurement bypass(const Model& model, const Text& text, const std::vector<std::size_t>& widths);

/// Perplexity without the k largest singular components of one matrix, for each layer type (only
/// for `type` unless that is empty) and each k of `components`, in every block by itself.
Measurement removal(const Model& model, const Text& text,
                    const std::vector<std::size_t>& components, const std::string& type);

}  // namespace slip::spectra
