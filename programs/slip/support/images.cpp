#include "programs/slip/support/images.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "optimized/artifact/sha256.hpp"
#include "optimized/import/idx.hpp"
#include "programs/slip/support/evaluation_parts.hpp"
#include "programs/slip/support/model.hpp"
#include "programs/slip/support/progress.hpp"
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

/// The logits of the images of a range, one row per image.
std::vector<float> logits_of(ImageClassifier& model, const IdxImages& images,
                             const ItemRange& range) {
    const std::size_t at_once = model.images_at_once();
    std::vector<float> logits;
    Progress progress("slip eval: images");
    for (std::size_t first = range.first; first < range.end; first += at_once) {
        const std::size_t batch = std::min(at_once, range.end - first);
        const auto bytes = std::span(images.pixels)
                               .subspan(first * model.image_size(), batch * model.image_size());
        const std::vector<float> rows =
            model.classify(std::vector<float>(bytes.begin(), bytes.end()));
        logits.insert(logits.end(), rows.begin(), rows.end());
        progress.update(first + batch - range.first, range.end - range.first);
    }
    return logits;
}

/// An object for each image.
Measured measure_images(const Options& options, const LabelledImages& given, std::size_t count,
                        const std::optional<Part>& part) {
    auto model = open_model<ImageClassifier>(options);
    require_fit(given.images, model.image_shape(), options.required("images"));
    const ItemRange range = items_of(part, count);
    const std::vector<float> logits = logits_of(model, given.images, range);
    const auto classes_per_image = static_cast<std::ptrdiff_t>(model.class_count());
    Measured measured{nlohmann::json::object(), count};
    for (std::size_t t = range.first; t < range.end; ++t) {
        const auto first =
            logits.begin() + static_cast<std::ptrdiff_t>(t - range.first) * classes_per_image;
        const auto last = first + classes_per_image;
        const auto chosen = static_cast<std::size_t>(std::max_element(first, last) - first);
        nlohmann::json value{{"class", chosen}, {"correct", chosen == given.labels[t]}};
        if (options.has("logits")) value["logits"] = std::vector<float>(first, last);
        measured.values.push_back(std::move(value));
    }
    return measured;
}

}  // namespace

int evaluate_images(const Options& options) {
    const LabelledImages given = read_images(options);
    const std::size_t count = std::min<std::size_t>(
        given.images.count, options.number_or("limit", given.images.count, 1));
    const auto digest_of = [&](const char* name) {
        return artifact::to_hex(artifact::sha256_of_file(options.required(name)));
    };
    const nlohmann::json request{{"images", digest_of("images")},
                                 {"labels", digest_of("labels")},
                                 {"limit", count},
                                 {"logits", options.has("logits")}};
    const auto measured = measured_in_parts(options, request, [&](const std::optional<Part>& part) {
        return measure_images(options, given, count, part);
    });
    if (!measured) return 0;

    std::size_t correct = 0;
    std::vector<std::size_t> classes;
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& value : measured->values) {
        classes.push_back(value.at("class"));
        correct += value.at("correct") ? 1U : 0U;
        if (options.has("logits")) rows.push_back(value.at("logits"));
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
