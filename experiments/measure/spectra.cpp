// spectra: what a checkpoint shows of itself, without training. One JSON object on standard output,
// progress on standard error.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/measure/changed_model.hpp"
#include "experiments/measure/program.hpp"
#include "experiments/measure/singular.hpp"
#include "optimized/base/error.hpp"

namespace slip::measure {
namespace {

using Json = nlohmann::ordered_json;

struct Measurement {
    Json settings;
    Json result;
};

/// A text and how much of it is read.
struct Text {
    explicit Text(const Flags& flags)
        : tokens(flags.number("tokens", 1)), file(flags.text("text")) {}

    std::size_t tokens;
    std::filesystem::path file;
};

/// To six digits after the point: enough for a figure.
double rounded(double value) { return std::round(value * 1e6) / 1e6; }

/// sigma_j / sigma_1 of every block's matrix of this type, a list per block.
std::vector<std::vector<double>> relative_values(const ChangedModel& model,
                                                 const std::string& type) {
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

Json decay_of_type(const ChangedModel& model, const std::string& type) {
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

/// By layer type, for j = 1, ..., min(m, n): sigma_j / sigma_1, the mean over the blocks and the
/// least and the most.
Measurement decay(const ChangedModel& model, const Flags& /*flags*/) {
    Measurement found{{{"blocks", model.blocks()}}, {{"layer_types", Json::array()}}};
    for (const std::string& type : model.layer_types()) {
        found.result["layer_types"].push_back(decay_of_type(model, type));
    }
    return found;
}

/// Weights and biases of the matrices in blocks first, ..., first + width - 1 become zero: these
/// blocks add nothing to the residual stream.
ChangedModel::Change without_blocks(const ChangedModel& model, std::size_t first,
                                    std::size_t width) {
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

/// Perplexity without windows of consecutive blocks, wherever they fit. Their widths are odd, so
/// that a window has a block in its middle.
Measurement bypass(const ChangedModel& model, const Flags& flags) {
    const Text text(flags);
    const std::vector<std::size_t> widths = flags.numbers("widths", 1);
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

/// Perplexities without the k largest components of this matrix, by k.
std::vector<double> without_components(const ChangedModel& model, const Matrix& matrix,
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

void require_possible(const ChangedModel& model, const std::vector<std::size_t>& components) {
    for (const Matrix& matrix : model.matrices()) {
        const std::size_t most = std::min(matrix.m, matrix.n);
        for (const std::size_t k : components) {
            if (k <= most) continue;
            throw BadInput("--components: " + matrix.tensor + " has " + std::to_string(most) +
                           " singular components, so " + std::to_string(k) +
                           " of them cannot be removed");
        }
    }
}

Json removal_from_type(const ChangedModel& model, const std::string& type,
                       const std::vector<TokenId>& ids,
                       const std::vector<std::size_t>& components) {
    std::vector<std::vector<double>> by_block;
    for (const Matrix& matrix : model.matrices()) {
        if (matrix.type != type) continue;
        std::cerr << matrix.tensor << '\n';
        by_block.push_back(without_components(model, matrix, ids, components));
    }
    Json points = Json::array();
    for (std::size_t i = 0; i < components.size(); ++i) {
        std::vector<double> perplexities;
        for (const auto& block : by_block) perplexities.push_back(block[i]);
        points.push_back({{"components", components[i]}, {"perplexities", perplexities}});
    }
    return {{"name", type}, {"points", points}};
}

/// Perplexity without the k largest singular components of one matrix, for each layer type, or that
/// of --type alone, and each k, in every block by itself.
Measurement removal(const ChangedModel& model, const Flags& flags) {
    const Text text(flags);
    const std::vector<std::size_t> components = flags.numbers("components", 1);
    const std::string type = flags.text_or("type", "");
    require_possible(model, components);
    const std::vector<TokenId> ids = model.read(text.file, text.tokens);
    Measurement found{{{"text", text.file.filename().string()},
                       {"tokens", text.tokens},
                       {"components", components}},
                      {{"baseline", model.perplexity(ids)}, {"layer_types", Json::array()}}};
    for (const std::string& each : model.layer_types()) {
        if (!type.empty() && each != type) continue;
        found.result["layer_types"].push_back(removal_from_type(model, each, ids, components));
    }
    if (found.result["layer_types"].empty()) {
        throw BadInput("--type: the model has no layers of type '" + type + "'");
    }
    return found;
}

Json measure_spectra(const Flags& flags) {
    const std::string name = flags.text_or("measurement", "");
    const auto measurement = name == "decay"     ? decay
                             : name == "bypass"  ? bypass
                             : name == "removal" ? removal
                                                 : nullptr;
    if (measurement == nullptr) {
        throw BadInput("expected decay, bypass or removal, not '" + name + "'");
    }
    const ChangedModel model(flags.text("model"));
    const Measurement found = measurement(model, flags);
    return {{"experiment", name},
            {"model", model.label()},
            {"settings", found.settings},
            {"result", found.result}};
}

}  // namespace
}  // namespace slip::measure

int main(int argc, char** argv) {
    return slip::measure::run(
        {"spectra",
         "decay --model DIR\n"
         "       spectra bypass --model DIR --text FILE --tokens N [--widths W,...]\n"
         "       spectra removal --model DIR --text FILE --tokens N --components K,... "
         "[--type NAME]\n\n"
         "decay:   singular values by layer type, over the blocks.\n"
         "bypass:  perplexity without windows of W blocks, at every position.\n"
         "removal: perplexity without the K largest singular components of one matrix, by layer\n"
         "         type, in every block.",
         {{"measurement", "NAME", "decay, bypass or removal"},
          {"model", "DIR", "the checkpoint"},
          {"text", "FILE", "UTF-8 text"},
          {"tokens", "N", "the first N of the text are read"},
          {"components", "K,...", "how many are removed"},
          {"widths", "W,...", "blocks of a window, odd; as default the paper's", "1,3,5,7"},
          {"type", "NAME", "one layer type, such as q"}},
         slip::measure::measure_spectra,
         "measurement"},
        argc, argv);
}
