#include "experiments/tasks/images.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "slip/error.hpp"

namespace slip::tasks {

LabelledImages read_images(const std::filesystem::path& images,
                           const std::filesystem::path& labels) {
    LabelledImages read{importing::read_idx_images(images), importing::read_idx_labels(labels)};
    if (read.labels.size() != read.images.count) {
        throw BadInput(labels.string() + ": has " + std::to_string(read.labels.size()) +
                       " labels: expected one for each of the " +
                       std::to_string(read.images.count) + " images of " + images.string());
    }
    return read;
}

Accuracy classify(ImageClassifier& model, const LabelledImages& given, std::size_t count) {
    const ImageShape shape = model.image_shape();
    if (shape != ImageShape{given.images.height, given.images.width, 1}) {
        throw BadInput("the images are " + std::to_string(given.images.height) + " x " +
                       std::to_string(given.images.width) + " x 1: expected " +
                       std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
                       std::to_string(shape.channels) + ", which the network takes");
    }
    const std::size_t classes = model.class_count();
    Accuracy accuracy;
    for (std::size_t first = 0; first < count; first += model.images_at_once()) {
        const std::size_t batch = std::min(model.images_at_once(), count - first);
        const auto pixels = std::span(given.images.pixels)
                                .subspan(first * model.image_size(), batch * model.image_size());
        const std::vector<float> logits =
            model.classify(std::vector<float>(pixels.begin(), pixels.end()));
        for (std::size_t i = 0; i < batch; ++i) {
            const auto row = std::span(logits).subspan(i * classes, classes);
            const auto found = std::max_element(row.begin(), row.end()) - row.begin();
            accuracy.count(found == std::ptrdiff_t{given.labels[first + i]});
        }
    }
    return accuracy;
}

}  // namespace slip::tasks
