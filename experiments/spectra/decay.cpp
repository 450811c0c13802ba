#include <algorithm>
#include <cmath>

#include "experiments/spectra/commands.hpp"
#include "experiments/spectra/singular.hpp"
#include "optimized/base/error.hpp"

namespace slip::spectra {
namespace {

using Json = nlohmann::ordered_json;

/// To six digits after the point: enough for a figure.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

/// sigma_j / sigma_1 of every block's matrix of this type, a list per block.
std::vector<std::vector<double>> relative_values(const Model& model, const std::string& type) {
    std::vector<std::vector<double>> found;
    for (const Matrix& matrix : model.matrices()) {
        if (matrix.type != type) continue;
        auto values = Decomposition(model.values(matrix), matrix.m, matrix.n).singular_values();
        const double largest = values.front();
        if (!(largest > 0)) throw BadInput(matrix.tensor + ": all its values are zero");
        for (double& value : values) value = rounded(value / largest);
        found.push_back(std::move(values));
    }
    return found;
}

Json layer_type(const Model& model, const std::string& type) {
    const auto blocks = relative_values(model, type);
    const auto shape = *std::find_if(model.matrices().begin(), model.matrices().end(),
                                     [&](const Matrix& matrix) { return matrix.type == type; });
    std::vector<double> mean;
    std::vector<double> least;
    std::vector<double> most;
    for (std::size_t j = 0; j < blocks.front().size(); ++j) {
        std::vector<double> of_blocks;
        double sum = 0;
        for (const auto& values : blocks) {
            of_blocks.push_back(values[j]);
            sum += values[j];
        }
        mean.push_back(rounded(sum / static_cast<double>(blocks.size())));
        least.push_back(*std::min_element(of_blocks.begin(), of_blocks.end()));
        most.push_back(*std::max_element(of_blocks.begin(), of_blocks.end()));
    }
    return {{"name", type}, {"m", shape.m},   {"n", shape.n},
            {"mean", mean}, {"least", least}, {"most", most}};
}

}  // namespace

Measurement decay(const Model& model) {
    Measurement found{{{"blocks", model.blocks()}}, {{"layer_types", Json::array()}}};
    for (const std::string& type : model.layer_types()) {
        found.result["layer_types"].push_back(layer_type(model, type));
    }
    return found;
}

}  // namespace slip::spectra
