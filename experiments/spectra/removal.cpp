#include <algorithm>
#include <iostream>

#include "experiments/spectra/commands.hpp"
#include "experiments/spectra/singular.hpp"
#include "optimized/base/error.hpp"

namespace slip::spectra {
namespace {

using Json = nlohmann::ordered_json;

/// Perplexities without the k largest components of this matrix, by k.
std::vector<double> of_matrix(const Model& model, const Matrix& matrix,
                              const std::vector<TokenId>& ids,
                              const std::vector<std::size_t>& components) {
    const Decomposition decomposition(model.values(matrix), matrix.m, matrix.n);
    const std::string tensor = matrix.tensor + ".weight";
    std::vector<double> found;
    for (const std::size_t k : components) {
        const std::vector<float> left = decomposition.without(k);
        found.push_back(model.perplexity(ids, [&](std::string_view name, auto& values) {
            if (name == tensor) values = left;
        }));
    }
    return found;
}

void require_possible(const Model& model, const std::vector<std::size_t>& components) {
    for (const Matrix& matrix : model.matrices()) {
        const std::size_t most = std::min(matrix.m, matrix.n);
        for (const std::size_t k : components) {
            if (k >= 1 && k <= most) continue;
            throw BadInput("--components: " + matrix.tensor + " has " + std::to_string(most) +
                           " singular components, so " + std::to_string(k) +
                           " of them cannot be removed");
        }
    }
}

Json layer_type(const Model& model, const std::string& type, const std::vector<TokenId>& ids,
                const std::vector<std::size_t>& components) {
    std::vector<std::vector<double>> by_block;
    for (const Matrix& matrix : model.matrices()) {
        if (matrix.type != type) continue;
        std::cerr << matrix.tensor << '\n';
        by_block.push_back(of_matrix(model, matrix, ids, components));
    }
    Json points = Json::array();
    for (std::size_t i = 0; i < components.size(); ++i) {
        std::vector<double> perplexities;
        for (const auto& block : by_block) perplexities.push_back(block[i]);
        points.push_back({{"components", components[i]}, {"perplexities", perplexities}});
    }
    return {{"name", type}, {"points", points}};
}

}  // namespace

Measurement removal(const Model& model, const Text& text,
                    const std::vector<std::size_t>& components, const std::string& type) {
    require_possible(model, components);
    const std::vector<TokenId> ids = model.read(text.file, text.tokens);
    Measurement found{{{"text", text.file.filename().string()},
                       {"tokens", text.tokens},
                       {"components", components}},
                      {{"baseline", model.perplexity(ids)}, {"layer_types", Json::array()}}};
    for (const std::string& each : model.layer_types()) {
        if (!type.empty() && each != type) continue;
        found.result["layer_types"].push_back(layer_type(model, each, ids, components));
    }
    if (found.result["layer_types"].empty()) {
        throw BadInput("--type: the model has no layers of type '" + type + "'");
    }
    return found;
}

}  // namespace slip::spectra
