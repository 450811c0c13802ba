// CNN-1 for whole networks: convolutions and linear layers are the engine's, everything else is
// Charlie's.
#include "optimized/graph/cnn.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/graph/operations.hpp"

namespace slip::graph {
namespace {

using base::CnnLayer;
using base::require;

/// Replaces every window by its largest element or its mean, channel by channel.
void pool(const CnnLayer& layer, std::span<const float> image, std::span<float> out) {
    const base::Convolution& shape = layer.window;
    const bool largest = layer.kind == CnnLayer::Kind::max_pool;
    const float share = 1.0F / static_cast<float>(shape.kH * shape.kW);
    for (std::size_t i = 0; i < shape.H_o(); ++i) {
        for (std::size_t j = 0; j < shape.W_o(); ++j) {
            for (std::size_t c = 0; c < shape.C; ++c) {
                const auto at = [&](std::size_t u, std::size_t v) {
                    return image[((i * shape.stride + u) * shape.W + j * shape.stride + v) *
                                     shape.C +
                                 c];
                };
                float result = largest ? at(0, 0) : 0.0F;
                for (std::size_t u = 0; u < shape.kH; ++u) {
                    for (std::size_t v = 0; v < shape.kW; ++v) {
                        result = largest ? std::max(result, at(u, v)) : result + at(u, v);
                    }
                }
                out[(i * shape.W_o() + j) * shape.C + c] = largest ? result : result * share;
            }
        }
    }
}

/// One layer of Charlie's own, for every image of a batch.
std::vector<float> apply_locally(const CnnLayer& layer, std::vector<float> batch,
                                 std::size_t images) {
    if (layer.kind == CnnLayer::Kind::relu) {
        for (float& value : batch) value = std::max(value, 0.0F);
        return batch;
    }
    std::vector<float> out(images * layer.outputs());
    for (std::size_t t = 0; t < images; ++t) {
        pool(layer, std::span(batch).subspan(t * layer.inputs(), layer.inputs()),
             std::span(out).subspan(t * layer.outputs(), layer.outputs()));
    }
    return out;
}

}  // namespace

std::vector<base::GroupShape> cnn_groups(const base::CnnConfig& config) {
    std::vector<base::GroupShape> groups;
    for (const CnnLayer& layer : config.layers) {
        if (!layer.offloaded()) continue;
        const std::size_t block = groups.size();
        if (layer.kind == CnnLayer::Kind::convolution) {
            groups.push_back({layer.window.patch(),
                              {{layer.tensor, "conv", block, layer.window.N}},
                              layer.window});
        } else {
            groups.push_back({layer.n, {{layer.tensor, "linear", block, layer.m}}});
        }
    }
    return groups;
}

Cnn::Cnn(const base::CnnConfig& config,
         const std::function<std::vector<float>(std::string_view, std::size_t)>& biases)
    : config_(config) {
    std::size_t width = config_.inputs();
    for (const CnnLayer& layer : config_.layers) {
        require(layer.inputs() == width, "Cnn: a layer does not take what the one before it gives");
        width = layer.outputs();
        auto& bias = biases_.emplace_back();
        if (layer.bias.empty()) continue;
        require(layer.offloaded(), "Cnn: only offloaded layers have a bias");
        bias = biases(layer.bias, layer.kind == CnnLayer::Kind::linear ? layer.m : layer.window.N);
    }
}

std::vector<float> Cnn::forward(base::Engine& engine, base::MatrixView<const float> images) const {
    require(images.cols() == config_.inputs(), "Cnn::forward: images of another size");
    const std::size_t b = images.rows();
    std::vector<float> batch(images.elements().begin(), images.elements().end());
    base::GroupId group = 0;
    for (std::size_t l = 0; l < config_.layers.size(); ++l) {
        const CnnLayer& layer = config_.layers[l];
        if (!layer.offloaded()) {
            batch = apply_locally(layer, std::move(batch), b);
            continue;
        }
        std::vector<float> products(b * layer.outputs());
        const std::array outputs{base::MatrixView<float>(products.data(), b, layer.outputs())};
        engine.apply(group++, {batch.data(), b, layer.inputs()}, outputs);
        const auto& bias = biases_[l];  // one number a channel, for every position
        if (!bias.empty())
            add_bias(bias, {products.data(), products.size() / bias.size(), bias.size()});
        batch = std::move(products);
    }
    return batch;
}

}  // namespace slip::graph
