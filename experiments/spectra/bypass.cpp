#include <algorithm>
#include <array>
#include <iostream>
#include <set>

#include "experiments/spectra/commands.hpp"

namespace slip::spectra {
namespace {

using Json = nlohmann::ordered_json;

/// Of the paper's figure. They are odd, so that each has a block in its middle.
constexpr std::array<std::size_t, 4> widths{1, 3, 5, 7};

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

Measurement bypass(const Model& model, const Text& text) {
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
