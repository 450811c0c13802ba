// ONNX files, and the configuration that a network becomes.
#include "property_tests/generators/onnx_encoder.hpp"

#include "optimized/base/error.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/onnx.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::onnx_fuzz {
namespace {

using namespace testing::onnx_encoder;

std::string image(const std::vector<std::int64_t>& shape) { return value_info(11, "x", shape); }
std::string logits() { return value_info(12, "y", {1, 2}); }

/// Conv with padding, Relu, MaxPool, Flatten, Gemm with a bias.
std::string convolutional() {
    const std::vector<float> ones(16, 1.0F);
    return floats("K", {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}) +
           floats("M", {2, 4}, {ones.begin(), ones.begin() + 8}) + floats("b", {2}, {1, 2}) +
           image({1, 1, 4, 4}) +
           node("Conv", {"x", "K"}, "c",
                attribute("pads", {1, 1, 1, 1}) + attribute("strides", {1, 1})) +
           node("Relu", {"c"}, "r") +
           node("MaxPool", {"r"}, "p",
                attribute("kernel_shape", {2, 2}) + attribute("strides", {2, 2})) +
           node("Flatten", {"p"}, "f", attribute("axis", 1)) +
           node("Gemm", {"f", "M", "b"}, "y", attribute("transB", 1)) + logits();
}

/// Constants that are reshaped, SAME padding, pools of the mean, MatMul and Add.
std::string reshaping() {
    return floats("K", {1, 2, 1, 1}, {1, 2}) + floats("M", {1, 2}, {3, 4}) +
           integers("s", {1, -1}) + floats("b", {1, 2}, {1, 2}) + image({1, 2, 2, 2}) +
           node("Conv", {"x", "K"}, "c", attribute("auto_pad", "SAME_UPPER")) +
           node("AveragePool", {"c"}, "a", attribute("kernel_shape", {1, 1})) +
           node("GlobalAveragePool", {"a"}, "g") + node("Reshape", {"g", "s"}, "f") +
           node("Reshape", {"M", "s"}, "N") + node("MatMul", {"f", "N"}, "m") +
           node("Add", {"b", "m"}, "y") + logits();
}

}  // namespace

/// A node or constant of two bytes becomes a record of some hundred, in a list that grows by
/// doubling.
const std::size_t allowance = std::size_t{1} << 19;

std::vector<Bytes> seeds() {
    return {bytes_of(testing::onnx_encoder::model(convolutional())),
            bytes_of(testing::onnx_encoder::model(reshaping()))};
}

bool check(std::span<const std::byte> input) {
    importing::OnnxNetwork network;
    if (!accepts<BadInput>([&] { network = importing::parse_onnx(input, "file"); })) return false;
    std::size_t width = network.config.inputs();
    for (const base::CnnLayer& layer : network.config.layers) {
        expect(layer.inputs() == width, "a layer does not take what the one before it gives");
        width = layer.outputs();
        if (!layer.offloaded()) continue;
        const bool linear = layer.kind == base::CnnLayer::Kind::linear;
        const std::size_t rows = linear ? layer.m : layer.window.N;
        const std::size_t columns = linear ? layer.n : layer.window.patch();
        expect(network.parameters.at(layer.tensor).size() == rows * columns,
               "a matrix has not the size that its layer says");
        expect(layer.bias.empty() || network.parameters.at(layer.bias).size() == rows,
               "a bias has not the size that its layer says");
    }
    base::CnnConfig again;
    if (accepts<BadInput>([&] {
            again = importing::parse_cnn_config(importing::cnn_to_json(network.config), "file");
        })) {
        expect(again == network.config, "a network that was written and read again is another one");
    }
    return true;
}

const Target target{"onnx_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::onnx_fuzz
