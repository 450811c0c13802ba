// A convolution as a product with patches: spec/convolution.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/parameters.hpp"

namespace slip::base {

/// CNN-1. The sizes of a convolution: an H x W image of C channels, a kH x kW window, N filters.
/// Tensors lie as vec() of the clause: position by position, the channel fastest.
struct Convolution {
    std::size_t H = 0, W = 0, C = 0;
    std::size_t kH = 0, kW = 0;
    std::size_t N = 0;
    std::size_t stride = 1;
    std::size_t padding = 0;

    std::size_t H_o() const { return (H + 2 * padding - kH) / stride + 1; }
    std::size_t W_o() const { return (W + 2 * padding - kW) / stride + 1; }
    std::size_t positions() const { return H_o() * W_o(); }
    std::size_t inputs() const { return H * W * C; }
    std::size_t outputs() const { return positions() * N; }
    /// Entries under one window: the columns of the kernel matrix (CNN-3).
    std::size_t patch() const { return kH * kW * C; }

    friend bool operator==(const Convolution&, const Convolution&) = default;
};

/// PARAM-3: sizes with which no product of sizes overflows, and every column fits a message.
inline bool within_limits(const Convolution& shape) {
    constexpr std::size_t most = parameters::largest_extent;
    const auto extent = [](std::size_t size) { return size >= 1 && size <= most; };
    return extent(shape.H) && extent(shape.W) && extent(shape.C) && extent(shape.kH) &&
           extent(shape.kW) && extent(shape.N) && extent(shape.stride) &&
           shape.padding < std::min(shape.kH, shape.kW) &&  // a window reaches the image
           shape.kH <= shape.H + 2 * shape.padding && shape.kW <= shape.W + 2 * shape.padding &&
           shape.inputs() <= most && shape.patch() <= most && shape.positions() <= most &&
           shape.outputs() <= most;
}

/// CNN-3: patches of one or several images, from number `first` on, as many as `patches` holds. The
/// output positions are counted through all images, as the columns of a message are; each patch has
/// its entries in the order (u, v, c), zero where the window leaves the image.
/// Requires: images has b inputs() elements, and patches is a whole number of patch() elements.
template <class T>
void gather_patches(const Convolution& shape, std::span<const T> images, std::size_t first,
                    std::span<T> patches) {
    const std::size_t last = first + patches.size() / shape.patch();
    T* out = patches.data();
    for (std::size_t at = first; at < last; ++at) {
        const T* image = images.data() + at / shape.positions() * shape.inputs();
        const std::size_t position = at % shape.positions();
        // Rows and columns of the padded image less the padding; unsigned, so that what lies before
        // the image is as far outside as what lies behind it.
        const std::size_t top = position / shape.W_o() * shape.stride - shape.padding;
        const std::size_t left = position % shape.W_o() * shape.stride - shape.padding;
        for (std::size_t row = top; row != top + shape.kH; ++row) {
            for (std::size_t column = left; column != left + shape.kW; ++column, out += shape.C) {
                if (row < shape.H && column < shape.W) {
                    std::copy_n(image + (row * shape.W + column) * shape.C, shape.C, out);
                } else {
                    std::fill_n(out, shape.C, T{0});
                }
            }
        }
    }
}

}  // namespace slip::base
