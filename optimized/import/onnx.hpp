// A convolutional network in the ONNX format, as a chain of layers.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "optimized/base/cnn_config.hpp"

namespace slip::importing {

/// A network and its parameters, a layer's matrix by the name that CnnLayer::tensor has. Weights
/// are m x n matrices whose columns follow the layer's input: N x (kH kW C) kernel matrices
/// (CNN-3), and matrices of linear layers for images whose channel is fastest. ONNX has the channel
/// slowest; the importer reorders.
struct OnnxNetwork {
    base::CnnConfig config;
    std::map<std::string, std::vector<float>> parameters;
};

/// Reads a network that is a chain of Conv, MatMul, Gemm, Add of a bias, Relu, MaxPool,
/// AveragePool, GlobalAveragePool, Reshape and Flatten to a vector, Dropout and Identity; constants
/// may be reshaped. The batch is one image. Throws BadInput, naming `origin`, the node and what was
/// expected, for anything else, for an attribute with which the mathematics would differ, and for
/// weights that are not finite.
OnnxNetwork parse_onnx(std::span<const std::byte> bytes, const std::filesystem::path& origin);

/// The same from a file.
OnnxNetwork read_onnx(const std::filesystem::path& path);

}  // namespace slip::importing
