// A convolution as a product with patches: spec/convolution.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace slip {

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

/// CNN-3: the patches of one or several images, one output position after the other, each with its
/// patch() entries in the order (u, v, c); zero where the window leaves the image. Positions follow
/// each other as the columns of a message do, so that W patches is vec of the output.
/// Requires: images has b inputs() elements, patches b positions() patch().
template <class T>
void gather_patches(const Convolution& shape, std::span<const T> images, std::span<T> patches) {
    T* out = patches.data();
    const auto gather_window = [&](const T* image, std::size_t top, std::size_t left) {
        for (std::size_t u = 0; u < shape.kH; ++u) {
            for (std::size_t v = 0; v < shape.kW; ++v, out += shape.C) {
                // Rows and columns of the padded image; unsigned, so that what lies before the
                // image is as far outside as what lies behind it.
                const std::size_t row = top + u - shape.padding;
                const std::size_t column = left + v - shape.padding;
                if (row < shape.H && column < shape.W) {
                    std::copy_n(image + (row * shape.W + column) * shape.C, shape.C, out);
                } else {
                    std::fill_n(out, shape.C, T{0});
                }
            }
        }
    };
    for (std::size_t at = 0; at < images.size(); at += shape.inputs()) {
        for (std::size_t i = 0; i < shape.H_o(); ++i) {
            for (std::size_t j = 0; j < shape.W_o(); ++j) {
                gather_window(images.data() + at, i * shape.stride, j * shape.stride);
            }
        }
    }
}

}  // namespace slip
