#include "programs/slip/images.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "optimized/import/idx.hpp"
#include "programs/slip/model.hpp"
#include "programs/slip/progress.hpp"
#include "slip/error.hpp"

namespace slip::tool {
namespace {

using importing::IdxImages;

/// Images with their classes.
struct LabelledImages {
    IdxImages images;
    std::vector<std::uint8_t> labels;
};

LabelledImages read_images(const Options& options) {
    const std::string path = options.required("images");
    const std::string labels = options.required("labels");
    LabelledImages read{importing::read_idx_images(path), importing::read_idx_labels(labels)};
    if (read.labels.size() != read.images.count) {
        throw BadInput(labels + ": has " + std::to_string(read.labels.size()) + " labels for the " +
                       std::to_string(read.images.count) + " images of " + path);
    }
    return read;
}

/// IDX images have one channel.
void require_fit(const IdxImages& images, const ImageShape& taken, const std::string& path) {
    if (ImageShape{images.height, images.width, 1} == taken) return;
    throw BadInput(path + ": has images of " + std::to_string(images.height) + " x " +
                   std::to_string(images.width) + " x 1; the network takes " +
                   std::to_string(taken.height) + " x " + std::to_string(taken.width) + " x " +
                   std::to_string(taken.channels));
}

/// The logits of `count` images, one row per image.
std::vector<float> logits_of(ImageClassifier& model, const IdxImages& images, std::size_t count) {
    const std::size_t at_once = model.images_at_once();
    std::vector<float> logits;
    Progress progress("slip eval: images");
    for (std::size_t first = 0; first < count; first += at_once) {
        const std::size_t batch = std::min(at_once, count - first);
        const auto bytes = std::span(images.pixels)
                               .subspan(first * model.image_size(), batch * model.image_size());
        const std::vector<float> rows =
            model.classify(std::vector<float>(bytes.begin(), bytes.end()));
        logits.insert(logits.end(), rows.begin(), rows.end());
        progress.update(first + batch, count);
    }
    return logits;
}

}  // namespace

int evaluate_images(const Options& options) {
    const LabelledImages given = read_images(options);
    const std::size_t count = std::min<std::size_t>(
        given.images.count, options.number_or("limit", given.images.count, 1));
    auto model = open_model<ImageClassifier>(options);
    require_fit(given.images, model.image_shape(), options.required("images"));
    const std::vector<float> logits = logits_of(model, given.images, count);
    const auto classes_per_image = static_cast<std::ptrdiff_t>(model.class_count());

    std::size_t correct = 0;
    std::vector<std::size_t> classes;
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t t = 0; t < count; ++t) {
        const auto first = logits.begin() + static_cast<std::ptrdiff_t>(t) * classes_per_image;
        const auto last = first + classes_per_image;
        classes.push_back(static_cast<std::size_t>(std::max_element(first, last) - first));
        correct += classes.back() == given.labels[t] ? 1U : 0U;
        if (options.has("logits")) rows.push_back(std::vector<float>(first, last));
    }
    const double accuracy = static_cast<double>(correct) / static_cast<double>(count);
    if (options.has("json")) {
        nlohmann::ordered_json json{
            {"images", count}, {"correct", correct}, {"accuracy", accuracy}, {"classes", classes}};
        if (options.has("logits")) json["logits"] = rows;
        std::cout << json.dump() << '\n';
    } else {
        std::cout << "images    " << count << "\naccuracy  " << accuracy << '\n';
    }
    return 0;
}

}  // namespace slip::tool
