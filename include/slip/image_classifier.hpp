// A convolutional network that runs: images in, logits of classes out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "slip/export.hpp"
#include "slip/run_statistics.hpp"

namespace SLIP_API slip {

class SLIP_HIDDEN Access;

/// Elements of an image along each axis.
struct ImageShape {
    std::size_t height = 0;    ///< rows
    std::size_t width = 0;     ///< columns
    std::size_t channels = 0;  ///< numbers per pixel
    /// Equal along every axis.
    friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// A convolutional network and what multiplies for it. Opened, used by threads, and failing as a
/// LanguageModel.
class ImageClassifier {
public:
    /// One that was moved from can only be assigned to or destroyed.
    ImageClassifier(ImageClassifier&&) noexcept;
    /// As the constructor.
    ImageClassifier& operator=(ImageClassifier&&) noexcept;
    ~ImageClassifier();

    /// What images must look like.
    [[nodiscard]] ImageShape image_shape() const;
    /// Elements of an image: height x width x channels, the channel fastest.
    [[nodiscard]] std::size_t image_size() const;
    /// Logits of an image.
    [[nodiscard]] std::size_t class_count() const;
    /// As many images as one call of classify() should get, at least 1: the activations and
    /// products of all of them stay within some ten megabytes.
    [[nodiscard]] std::size_t images_at_once() const;

    /// The logits of `images`, which stand one after the other: as many rows of class_count(). All
    /// go through the network as one batch. Throws BadInput unless the images are whole and at
    /// least one.
    [[nodiscard]] std::vector<float> classify(std::span<const float> images);

    /// As LanguageModel::wait_for_masks().
    void wait_for_masks(std::size_t masks_per_group);

    /// Since it was opened.
    [[nodiscard]] RunStatistics statistics() const;

private:
    friend class Access;
    struct SLIP_HIDDEN State;
    explicit ImageClassifier(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace slip
