// Convolutional networks, written once for every engine: spec/convolution.md.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "optimized/base/cnn_config.hpp"
#include "optimized/base/engine.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::graph {

/// The offloaded layers in order, one group each. `block` counts them from 0; `layer_type` is
/// "conv" or "linear".
std::vector<base::GroupShape> cnn_groups(const base::CnnConfig& config);

class Cnn {
public:
    /// `biases(name, elements)` gives the bias `name` of an offloaded layer.
    Cnn(const base::CnnConfig& config,
        const std::function<std::vector<float>(std::string_view, std::size_t)>& biases);

    /// The logits of `images` (b x inputs(), one row per image, the channel fastest): b x
    /// classes(). All images of one call go through the engine as one batch, or as many as it takes
    /// in a step. Throws InternalError
    /// on another shape, and what the engine throws.
    std::vector<float> forward(base::Engine& engine, base::MatrixView<const float> images) const;

    const base::CnnConfig& config() const { return config_; }

private:
    base::CnnConfig config_;
    std::vector<std::vector<float>> biases_;  // a layer; empty if it has none
};

}  // namespace slip::graph
