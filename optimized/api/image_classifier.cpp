#include "slip/image_classifier.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "optimized/api/access.hpp"
#include "optimized/base/error.hpp"

namespace slip {

ImageClassifier::ImageClassifier(std::unique_ptr<State> state) : state_(std::move(state)) {}
ImageClassifier::ImageClassifier(ImageClassifier&&) noexcept = default;
ImageClassifier& ImageClassifier::operator=(ImageClassifier&&) noexcept = default;
ImageClassifier::~ImageClassifier() = default;

ImageShape ImageClassifier::image_shape() const {
    const base::CnnConfig& config = state_->graph.config();
    return {config.H, config.W, config.C};
}

std::size_t ImageClassifier::image_size() const { return state_->graph.config().inputs(); }

std::size_t ImageClassifier::class_count() const { return state_->graph.config().classes(); }

std::size_t ImageClassifier::images_at_once() const {
    constexpr std::size_t elements = std::size_t{1} << 20;
    std::size_t largest = image_size();
    for (const base::CnnLayer& layer : state_->graph.config().layers) {
        largest = std::max(largest, layer.outputs());
    }
    return std::clamp<std::size_t>(elements / largest, 1, 64);
}

std::vector<float> ImageClassifier::classify(std::span<const float> images) {
    const std::size_t width = image_size();
    if (images.empty() || images.size() % width != 0) {
        throw BadInput("images of " + std::to_string(images.size()) +
                       " elements: the network takes " + std::to_string(width) + " per image");
    }
    return state_->graph.forward(state_->runtime->engine(),
                                 {images.data(), images.size() / width, width});
}

void ImageClassifier::wait_for_masks(std::size_t masks_per_group) {
    state_->runtime->wait_for_masks(masks_per_group);
}

RunStatistics ImageClassifier::statistics() const { return state_->runtime->statistics(); }

ImageClassifier Access::image_classifier(std::unique_ptr<api::ModelFiles> files,
                                         const Start& start) {
    graph::Cnn graph(*files->network(), files->parameters());
    auto state = std::make_unique<ImageClassifier::State>(std::move(files), std::move(graph));
    state->runtime = start();
    return ImageClassifier(std::move(state));
}

}  // namespace slip
