#include <algorithm>
#include <iostream>
#include <set>
#include <string>

#include "experiments/spectra/commands.hpp"
#include "optimized/base/error.hpp"

namespace slip::spectra {
namespace {

using Json = nlohmann::ordered_json;

/// Weights and biases of the matrices in blocks first, ..., first + width - 1 become zero: these
/// blocks add nothing to the residual stream.
Model::Change without_blocks(const Model& model, std::size_t first, std::size_t width) {
    std::set<std::string, std::less<>> zeros;
    for (const Matrix& matrix : model.matrices()) {
        if (matrix.block < first || matrix.block >= first + width) continue;
        zeros.insert(matrix.tensor + ".weight");
        zeros.insert(matrix.tensor + ".bias");
    }
    return [zeros](std::string_view name, std::vector<float>& values) {
        if (zeros.find(name) != zeros.end()) std::fill(values.begin(), values.end(), 0.0F);
    };
}

}  // namespace

Measurement bypass(const Model& model, const Text& text, const std::vector<std::size_t>& widths) {
    for (const std::size_t width : widths) {
        if (width % 2 == 0) throw BadInput("--widths: " + std::to_string(width) + " is not odd");
    }
    const std::vector<TokenId> ids = model.read(text.file, text.tokens);
    Measurement found{{{"text", text.file.filename().string()}, {"tokens", text.tokens}},
                      {{"baseline", model.perplexity(ids)}, {"windows", Json::array()}}};
    for (const std::size_t width : widths) {
        if (width > model.blocks()) continue;
        Json positions = Json::array();
        for (std::size_t first = 0; first + width <= model.blocks(); ++first) {
            std::cerr << "window of " << width << " from block " << first << '\n';
            const double perplexity = model.perplexity(ids, without_blocks(model, first, width));
            positions.push_back({{"center", first + width / 2}, {"perplexity", perplexity}});
        }
        found.result["windows"].push_back({{"blocks", width}, {"positions", positions}});
    }
    return found;
}

}  // namespace slip::spectra
