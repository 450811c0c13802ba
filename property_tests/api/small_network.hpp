// A convolutional network that fits a few lines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "property_tests/generators/onnx_encoder.hpp"

namespace slip::testing {

/// A 4 x 3 image of 2 channels; Conv to 3 (2 x 2), Relu, Flatten, Gemm to 4.
inline std::string network_file() {
    const auto weights = [](std::size_t count) {
        std::vector<float> values(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>((7 * i) % 11) - 5;
        return values;
    };
    using namespace onnx_encoder;
    return onnx_encoder::model(
        floats("kernel.weight", {3, 2, 2, 2}, weights(24)) + floats("M", {4, 18}, weights(72)) +
        value_info(11, "x", {1, 2, 4, 3}) + node("Conv", {"x", "kernel.weight"}, "a") +
        node("Relu", {"a"}, "b") + node("Flatten", {"b"}, "f") +
        node("Gemm", {"f", "M"}, "y", attribute("transB", 1)) + value_info(12, "y", {1, 4}));
}

}  // namespace slip::testing
