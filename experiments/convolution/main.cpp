// convolution-split --model FILE.onnx --images FILE --labels FILE [--share F,...]
//
// Prints one JSON object: how well David's share of a convolutional network classifies, for each
// share of the rank that Charlie keeps, if dense matrices are split and if kernel matrices are.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "experiments/convolution/residuals.hpp"
#include "experiments/measure/model_label.hpp"
#include "experiments/measure/program.hpp"
#include "experiments/tasks/accuracy.hpp"
#include "experiments/tasks/images.hpp"
#include "optimized/graph/cnn.hpp"
#include "slip/error.hpp"

namespace slip::convolution {
namespace {

using measure::Flags;
using nlohmann::ordered_json;

std::vector<double> shares_of(const std::vector<std::string>& words) {
    std::vector<double> shares;
    for (const std::string& word : words) {
        std::istringstream stream(word);
        double share = -1;
        if (!(stream >> share) || !stream.eof() || !(share >= 0 && share <= 1)) {
            throw BadInput("--share '" + word + "': expected numbers from 0 to 1");
        }
        shares.push_back(share);
    }
    return shares;
}

ordered_json point_of(const Layers& layers, const std::filesystem::path& model,
                      const tasks::LabelledImages& given, std::size_t count, double share,
                      bool convolutions_only) {
    const std::vector<std::size_t> ranks = layers.ranks(share, convolutions_only);
    ImageClassifier network = layers.without(ranks, model);
    const tasks::Accuracy found = tasks::classify(network, given, count);
    const tasks::Interval interval = tasks::wilson_interval(found);
    return {{"share", share},
            {"layers", convolutions_only ? "convolutions" : "all"},
            {"ranks", ranks},
            {"charlie_multiplications", layers.charlie_multiplications(ranks)},
            {"items", found.items},
            {"correct", found.correct},
            {"accuracy", found.value()},
            {"interval", {interval.low, interval.high}}};
}

/// Multiplications per image of the network itself.
std::uint64_t linear_of(const base::CnnConfig& network) {
    std::uint64_t count = 0;
    for (const base::GroupShape& group : graph::cnn_groups(network)) {
        count += group.product().multiplications();
    }
    return count;
}

std::vector<Form> forms_of(const std::string& name) {
    if (name == "both") return {Form::kernel, Form::dense};
    if (name == "kernel") return {Form::kernel};
    if (name == "dense") return {Form::dense};
    throw BadInput("--matrix '" + name + "': expected kernel, dense or both");
}

ordered_json measure_shares(const Flags& flags) {
    const std::filesystem::path model = flags.text("model");
    const std::filesystem::path images = flags.text("images");
    const std::vector<double> shares = shares_of(flags.words("share"));
    const tasks::LabelledImages given = tasks::read_images(images, flags.text("labels"));
    const std::size_t count = std::min<std::size_t>(flags.number("items", 1), given.images.count);
    const importing::Checkpoint checkpoint(model);
    if (checkpoint.network() == nullptr) {
        throw BadInput(model.string() + ": expected a convolutional network");
    }
    ordered_json points = ordered_json::array();
    for (const Form form : forms_of(flags.text("matrix"))) {
        const Layers layers(checkpoint, form);
        const char* name = form == Form::kernel ? "kernel" : "dense";
        for (const bool convolutions_only : {false, true}) {
            for (const double share : shares) {
                ordered_json point{{"matrix", name}};
                point.update(point_of(layers, model, given, count, share, convolutions_only));
                std::cerr << "convolution-split: " << point.dump() << '\n';
                points.push_back(std::move(point));
            }
        }
    }
    return {{"experiment", "convolution-split"},
            {"model", measure::label_of(checkpoint)},
            {"settings",
             {{"strategy", "lsc"},
              {"weights", "float32, not rounded to 8 bits"},
              {"images", images.filename().string()}}},
            {"seed", nullptr},
            {"result",
             {{"linear_multiplications", linear_of(*checkpoint.network())}, {"points", points}}}};
}

}  // namespace
}  // namespace slip::convolution

int main(int argc, char** argv) {
    return slip::measure::run(
        {"convolution-split",
         "--model FILE --images FILE --labels FILE [OPTIONS]\n\n"
         "Prints how well David's share of a convolutional network classifies, as one JSON object.",
         {{"model", "FILE", "ONNX file"},
          {"images", "FILE", "IDX file"},
          {"labels", "FILE", "IDX file"},
          {"share", "F,...", "of the rank of every matrix that Charlie keeps", "0,0.125,0.25,0.5"},
          {"matrix", "NAME", "what is split: kernel, dense or both", "both"},
          {"items", "N", "only the first N images", "1000"}},
         slip::convolution::measure_shares},
        argc, argv);
}
