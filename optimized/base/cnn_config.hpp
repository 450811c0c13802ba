// What a convolutional network looks like, without its weights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "optimized/base/convolution.hpp"

namespace slip::base {

/// One step of a network that is a chain of layers.
struct CnnLayer {
    enum class Kind {
        convolution,   // offloaded: y = conv(x) + bias
        linear,        // offloaded: y = W vec(x) + bias
        relu,          // Charlie's
        max_pool,      // Charlie's: the largest of a window, channel by channel
        average_pool,  // Charlie's: the mean of a window, channel by channel
    };
    Kind kind = Kind::relu;
    /// Offloaded layers: the name of the weights, and of the bias or empty if there is none.
    std::string tensor = {};
    std::string bias = {};
    /// convolution: its sizes. Pools: H, W, C of the input, the window and the stride; no padding.
    Convolution window = {};
    /// linear: sizes of W, m x n.
    std::size_t m = 0;
    std::size_t n = 0;

    bool offloaded() const { return kind == Kind::convolution || kind == Kind::linear; }
    std::size_t inputs() const;
    std::size_t outputs() const;

    friend bool operator==(const CnnLayer&, const CnnLayer&) = default;
};

/// A chain: the outputs of a layer are the inputs of the next. An image is H x W x C, the channel
/// fastest; the outputs of the last layer are the logits of the classes.
struct CnnConfig {
    std::size_t H = 0, W = 0, C = 0;
    std::vector<CnnLayer> layers;

    std::size_t inputs() const { return H * W * C; }
    std::size_t classes() const { return layers.empty() ? 0 : layers.back().outputs(); }

    friend bool operator==(const CnnConfig&, const CnnConfig&) = default;
};

}  // namespace slip::base
