#include "experiments/safety/share/hidden_half.hpp"

#include <cmath>
#include <numeric>

#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"

namespace slip::safety {
namespace {

using base::parameters::primes;

/// For each plane the number below L that is 1 modulo its prime and 0 modulo the others'.
std::vector<std::int64_t> units(std::size_t planes) {
    const auto modulus = static_cast<std::int64_t>(base::parameters::modulus(planes));
    std::vector<std::int64_t> found;
    for (std::size_t p = 0; p < planes; ++p) {
        const std::int64_t others = modulus / primes[p];
        std::int64_t unit = others;
        while (unit % primes[p] != 1) unit += others;
        found.push_back(unit);
    }
    return found;
}

}  // namespace

Rows rows_named(const std::string& name) {
    if (name == "davids") return Rows::davids;
    if (name == "uniform") return Rows::uniform;
    throw BadInput("--rows is davids or uniform, not '" + name + "'");
}

HiddenHalf::HiddenHalf(const std::filesystem::path& folder, const artifact::DavidArtifact& david)
    : set_(david.set()), file_(folder / artifact::layout::david_weights) {
    base::require(set_.hides_weights, "HiddenHalf: expected a hidden split");
}

std::span<const std::int8_t> HiddenHalf::planes(std::size_t group) const {
    const importing::Tensor& tensor = file_.tensor(artifact::layout::group_tensor(group));
    return {reinterpret_cast<const std::int8_t*>(tensor.bytes.data()), tensor.bytes.size()};
}

std::vector<double> lifted(std::span<const std::int8_t> residues, std::size_t planes) {
    base::require(residues.size() % planes == 0, "lifted: planes of one size");
    const auto modulus = static_cast<std::int64_t>(base::parameters::modulus(planes));
    const std::vector<std::int64_t> unit = units(planes);
    const std::size_t entries = residues.size() / planes;
    std::vector<double> values(entries);
    for (std::size_t i = 0; i < entries; ++i) {
        std::int64_t sum = 0;  // below 2^58: 6 products of 7 and 48 bits
        for (std::size_t p = 0; p < planes; ++p) sum += unit[p] * residues[p * entries + i];
        std::int64_t least = sum % modulus;
        if (least > modulus / 2) least -= modulus;
        if (least < -(modulus / 2)) least += modulus;
        values[i] = static_cast<double>(least);
    }
    return values;
}

std::vector<std::int8_t> uniform_residues(std::size_t entries, std::size_t planes,
                                          std::mt19937_64& random) {
    std::vector<std::int8_t> residues;
    residues.reserve(entries * planes);
    for (std::size_t p = 0; p < planes; ++p) {
        std::uniform_int_distribution<int> residue(-(primes[p] / 2), primes[p] / 2);
        for (std::size_t i = 0; i < entries; ++i) {
            residues.push_back(static_cast<std::int8_t>(residue(random)));
        }
    }
    return residues;
}

std::vector<float> with_norms(std::span<const double> rows, std::size_t n,
                              std::span<const double> norms) {
    base::require(rows.size() == n * norms.size(), "with_norms: a norm per row");
    std::vector<float> scaled;
    scaled.reserve(rows.size());
    for (std::size_t i = 0; i < norms.size(); ++i) {
        const auto row = rows.subspan(i * n, n);
        const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
        const double factor = norm == 0 ? 0 : norms[i] / norm;
        for (const double value : row) scaled.push_back(static_cast<float>(factor * value));
    }
    return scaled;
}

}  // namespace slip::safety
