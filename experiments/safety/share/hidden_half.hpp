// What an attacker makes of David's half of a hidden split: numbers of the size of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::safety {

/// What stands in the place of David's matrices. `davids`: A itself (HIDE-1). `uniform`: residues
/// drawn uniformly, whatever the model is, as in the ideal that the hidden split is compared with
/// (THREAT-1).
enum class Rows { davids, uniform };
/// "davids" or "uniform". Throws BadInput for another name.
Rows rows_named(const std::string& name);

/// A of each group as david.safetensors has it: planes x M x n, least magnitudes modulo each prime.
class HiddenHalf {
public:
    /// `folder` is OUT/david, which is open as `david`, of the hidden split.
    HiddenHalf(const std::filesystem::path& folder, const artifact::DavidArtifact& david);

    const base::parameters::ParameterSet& set() const { return set_; }
    std::span<const std::int8_t> planes(std::size_t group) const;

private:
    const base::parameters::ParameterSet& set_;
    importing::SafetensorsFile file_;
};

/// RING-2: the integers of least magnitude modulo L of `planes` planes of least magnitudes, one
/// after the other.
std::vector<double> lifted(std::span<const std::int8_t> residues, std::size_t planes);

/// Planes of that many entries, independent and uniform modulo each prime.
std::vector<std::int8_t> uniform_residues(std::size_t entries, std::size_t planes,
                                          std::mt19937_64& random);

/// Rows of n entries, norms.size() of them, each scaled to its 2-norm; zero rows stay zero.
std::vector<float> with_norms(std::span<const double> rows, std::size_t n,
                              std::span<const double> norms);

}  // namespace slip::safety
