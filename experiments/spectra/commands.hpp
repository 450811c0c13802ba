// The measurements of `spectra`: each returns its settings and its result, as one JSON object on
// standard output has them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
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

/// Perplexity without windows of 1, 3, 5 and 7 consecutive blocks, wherever they fit.
Measurement bypass(const Model& model, const Text& text);

/// Perplexity without the k largest singular components of one matrix, for each layer type and each
/// k of `components`, in every block by itself.
Measurement removal(const Model& model, const Text& text,
                    const std::vector<std::size_t>& components);

/// W without its k largest singular components: m x n. k <= min(m, n).
class Remover {
public:
    Remover(const std::vector<float>& w, std::size_t m, std::size_t n);
    ~Remover();
    std::vector<float> without(std::size_t k) const;

private:
    struct Decomposition;
    std::unique_ptr<Decomposition> decomposition_;
};

/// All min(m, n) of them, falling.
std::vector<double> singular_values(const std::vector<float>& w, std::size_t m, std::size_t n);

}  // namespace slip::spectra
