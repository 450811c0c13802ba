// Images with labels: the MNIST files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "experiments/tasks/accuracy.hpp"
#include "optimized/import/idx.hpp"
#include "slip/image_classifier.hpp"

namespace slip::tasks {

struct LabelledImages {
    importing::IdxImages images;
    std::vector<std::uint8_t> labels;  // one per image
};

/// Two IDX files. Throws BadInput, naming the file, unless there is one label per image.
LabelledImages read_images(const std::filesystem::path& images,
                           const std::filesystem::path& labels);

/// The share of the first `count` images whose largest logit, the first among equals, is that of
/// their label (CNN-6). Throws BadInput if the network takes other images.
Accuracy classify(ImageClassifier& model, const LabelledImages& given, std::size_t count);

}  // namespace slip::tasks
