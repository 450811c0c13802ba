// Convolutional networks from ONNX files: what is read, what is refused, and what the graph
// computes in float.
#include "optimized/import/onnx.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "optimized/base/error.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/cnn.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/idx.hpp"
#include "property_tests/generators/onnx_encoder.hpp"
#include "reference/convolution.hpp"

namespace slip::importing {
namespace {

using engines::FloatEngine;
using graph::Cnn;
using namespace testing::onnx_encoder;

const std::filesystem::path shared = SLIP_SHARED_DIR;

OnnxNetwork parse(const std::string& graph) {
    const std::string file = model(graph);
    return parse_onnx(std::as_bytes(std::span(file)), "net.onnx");
}

std::string refusal(const std::string& graph) {
    try {
        parse(graph);
    } catch (const BadInput& error) {
        return error.what();
    }
    return "accepted";
}

/// Small whole numbers, so that float arithmetic is exact.
std::vector<float> whole_numbers(std::size_t count, std::mt19937& random) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 15) - 7);
    return values;
}

/// A network with every kind of layer: 5 x 6 image of 2 channels, Conv to 3 channels (window 3 x 2,
/// stride 2, padding 1), Relu, MaxPool, Flatten, Gemm to 4, Add.
struct Example {
    std::vector<float> kernel, conv_bias, matrix, bias;
    std::string parameters;
    std::string input = value_info(11, "x", {1, 2, 5, 6});
    std::string output = value_info(12, "y", {1, 4});
    std::string conv = node("Conv", {"x", "K", "b"}, "c",
                            attribute("strides", {2, 2}) + attribute("pads", {1, 1, 1, 1}) +
                                attribute("kernel_shape", {3, 2}));
    std::string relu = node("Relu", {"c"}, "r");
    std::string pool = node("MaxPool", {"r"}, "p",
                            attribute("kernel_shape", {2, 2}) + attribute("strides", {1, 1}));
    std::string flatten = node("Flatten", {"p"}, "f");
    std::string gemm = node("Gemm", {"f", "M"}, "g", attribute("transB", 1));
    std::string add = node("Add", {"g", "d"}, "y");

    explicit Example(std::mt19937& random) {
        kernel = whole_numbers(3 * 2 * 3 * 2, random);
        conv_bias = whole_numbers(3, random);
        matrix = whole_numbers(4 * 18, random);
        bias = whole_numbers(4, random);
        parameters = floats("K", {3, 2, 3, 2}, kernel) + floats("b", {3}, conv_bias) +
                     floats("M", {4, 18}, matrix) + floats("d", {4}, bias);
    }
    std::string graph() const {
        return parameters + input + conv + relu + pool + flatten + gemm + add + output;
    }
};

Cnn graph_of(const OnnxNetwork& network) {
    return Cnn(network.config, [&](std::string_view name, std::size_t elements) {
        const auto& values = network.parameters.at(std::string(name));
        EXPECT_EQ(values.size(), elements);
        return values;
    });
}

FloatEngine engine_of(const OnnxNetwork& network) {
    return FloatEngine(graph::cnn_groups(network.config), [&](std::string_view name,
                                                              std::size_t n) {
        const auto& values = network.parameters.at(std::string(name.substr(0, name.rfind('.'))));
        EXPECT_EQ(values.size(), n);
        return values;
    });
}

// --- what is computed ----------------------------------------------------------------------------

/// The example in ONNX's own order, channel by channel, straight from the definitions.
std::vector<float> expected_logits(const Example& example, const std::vector<float>& image) {
    constexpr int H = 5, W = 6, C = 2, N = 3, H_o = 3, W_o = 4;
    std::vector<float> convolved(N * H_o * W_o);
    for (int n = 0; n < N; ++n)
        for (int i = 0; i < H_o; ++i)
            for (int j = 0; j < W_o; ++j) {
                float sum = example.conv_bias[static_cast<std::size_t>(n)];
                for (int c = 0; c < C; ++c)
                    for (int u = 0; u < 3; ++u)
                        for (int v = 0; v < 2; ++v) {
                            const int row = 2 * i + u - 1, column = 2 * j + v - 1;
                            if (row < 0 || row >= H || column < 0 || column >= W) continue;
                            sum += image[static_cast<std::size_t>((c * H + row) * W + column)] *
                                   example.kernel[static_cast<std::size_t>(
                                       ((n * C + c) * 3 + u) * 2 + v)];
                        }
                convolved[static_cast<std::size_t>((n * H_o + i) * W_o + j)] = std::max(sum, 0.0F);
            }
    std::vector<float> pooled;
    for (int n = 0; n < N; ++n)
        for (int i = 0; i + 1 < H_o; ++i)
            for (int j = 0; j + 1 < W_o; ++j) {
                const auto at = [&](int a, int b) {
                    return convolved[static_cast<std::size_t>((n * H_o + i + a) * W_o + j + b)];
                };
                pooled.push_back(std::max({at(0, 0), at(0, 1), at(1, 0), at(1, 1)}));
            }
    std::vector<float> logits = example.bias;
    for (std::size_t m = 0; m < 4; ++m)
        for (std::size_t k = 0; k < 18; ++k) logits[m] += example.matrix[m * 18 + k] * pooled[k];
    return logits;
}

TEST(Onnx, CNN_1_every_kind_of_layer_as_defined) {
    std::mt19937 random(1);
    for (int trial = 0; trial < 20; ++trial) {
        const Example example(random);
        const OnnxNetwork network = parse(example.graph());
        FloatEngine engine = engine_of(network);
        const Cnn graph = graph_of(network);
        std::vector<float> batch, expected;
        for (int t = 0; t < 3; ++t) {  // a batch of three
            const auto image = whole_numbers(2 * 5 * 6, random);
            for (std::size_t position = 0; position < 30; ++position) {
                batch.push_back(image[position]);
                batch.push_back(image[30 + position]);
            }
            const auto logits = expected_logits(example, image);
            expected.insert(expected.end(), logits.begin(), logits.end());
        }
        EXPECT_EQ(graph.forward(engine, {batch.data(), 3, 60}), expected);
    }
}

TEST(Onnx, CNN_1_constants_may_be_reshaped) {
    std::mt19937 random(6);
    const Example example(random);
    Example other = example;  // the same network with MatMul by an 18 x 4 constant of another shape
    std::vector<float> transposed(18 * 4);
    for (std::size_t m = 0; m < 4; ++m) {
        for (std::size_t k = 0; k < 18; ++k) transposed[k * 4 + m] = example.matrix[m * 18 + k];
    }
    other.parameters += floats("T", {3, 2, 3, 4}, transposed) + integers("to", {18, -1}) +
                        integers("flat", {1, 18});
    other.flatten = node("Reshape", {"p", "flat"}, "f") + node("Reshape", {"T", "to"}, "R");
    other.gemm = node("MatMul", {"f", "R"}, "g");
    const OnnxNetwork network = parse(other.graph());
    EXPECT_EQ(network.parameters.at("R"), parse(example.graph()).parameters.at("M"));
    EXPECT_EQ(network.config.classes(), 4U);
    other.flatten = node("Reshape", {"p", "to"}, "f");
    EXPECT_NE(refusal(other.graph()).find("as one vector"), std::string::npos);
}

TEST(Onnx, CNN_3_patches_are_those_of_the_reference) {
    std::mt19937 random(2);
    for (int trial = 0; trial < 200; ++trial) {
        base::Convolution shape{
            .H = 1 + random() % 6, .W = 1 + random() % 6, .C = 1 + random() % 3};
        shape.padding = random() % 3;
        shape.kH = 1 + random() % (shape.H + 2 * shape.padding);
        shape.kW = 1 + random() % (shape.W + 2 * shape.padding);
        shape.N = 2;
        shape.stride = 1 + random() % 3;
        const reference::ConvolutionShape same{shape.H,  shape.W, shape.C,      shape.kH,
                                               shape.kW, shape.N, shape.stride, shape.padding};
        std::vector<int> images(2 * shape.inputs());
        for (int& value : images) value = static_cast<int>(random() % 1000) - 500;
        std::vector<int> patches(2 * shape.positions() * shape.patch());
        base::gather_patches<int>(shape, images, 0, patches);
        for (std::size_t t = 0; t < 2; ++t) {
            reference::Vector x;
            for (std::size_t i = 0; i < shape.inputs(); ++i) {
                x.push_back(images[t * shape.inputs() + i]);
            }
            const reference::Matrix expected = reference::patches(same, x);
            ASSERT_EQ(expected.cols(), shape.positions());
            for (std::size_t position = 0; position < shape.positions(); ++position) {
                for (std::size_t entry = 0; entry < shape.patch(); ++entry) {
                    ASSERT_EQ(expected(entry, position),
                              patches[(t * shape.positions() + position) * shape.patch() + entry]);
                }
            }
        }
    }
}

TEST(Onnx, CNN_1_the_published_network_classifies_its_images) {
    const auto folder = shared / "data/cnn";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is absent";
    const OnnxNetwork network = read_onnx(folder / "mnist.onnx");
    FloatEngine engine = engine_of(network);
    const IdxImages images = read_idx_images(folder / "mnist-1000-images.idx3-ubyte");
    const auto labels = read_idx_labels(folder / "mnist-1000-labels.idx1-ubyte");
    const std::vector<float> pixels(images.pixels.begin(), images.pixels.end());
    const auto logits =
        graph_of(network).forward(engine, {pixels.data(), images.count, network.config.inputs()});
    std::size_t right = 0;
    for (std::size_t t = 0; t < images.count; ++t) {
        const auto first = logits.begin() + static_cast<std::ptrdiff_t>(10 * t);
        right += std::max_element(first, first + 10) - first == labels[t] ? 1U : 0U;
    }
    EXPECT_GE(right, 980U);
    EXPECT_EQ(parse_cnn_config(cnn_to_json(network.config), "config.json"), network.config);
}

// --- what is refused -----------------------------------------------------------------------------

/// What a message says of a change, and the change.
using OnnxRefusals = std::vector<std::pair<std::string, std::function<void(Example&)>>>;

void expect_onnx_refused(const OnnxRefusals& cases) {
    std::mt19937 random(3);
    const Example example(random);
    EXPECT_EQ(refusal(example.graph()), "accepted");
    for (const auto& [expected, change] : cases) {
        Example changed = example;
        change(changed);
        const std::string message = refusal(changed.graph());
        EXPECT_EQ(message.find("net.onnx: "), 0U) << expected << ": " << message;
        EXPECT_NE(message.find(expected), std::string::npos) << expected << ": " << message;
    }
}

TEST(Onnx, CONV_4_operators_that_would_compute_something_else_are_refused_by_name) {
    const auto conv = [](const std::string& attributes) {
        return [attributes](Example& e) {
            e.conv = node("Conv", {"x", "K", "b"}, "c", attributes);
        };
    };
    expect_onnx_refused({
        {"stride", conv(attribute("strides", {2, 1}))},
        {"strides", conv(attribute("strides", {0, 0}))},
        {"strides with 2 entries", conv(attribute("strides", {1}))},
        {"dilation", conv(attribute("dilations", {2, 2}))},
        {"group", conv(attribute("group", 2))},
        {"padding", conv(attribute("pads", {0, 0, 1, 1}))},
        {"padding", conv(attribute("pads", {9, 9, 9, 9}))},
        {"odd square window", conv(attribute("auto_pad", "SAME_UPPER"))},
        {"auto_pad", conv(attribute("auto_pad", "ODD"))},
        {"kernel_shape", conv(attribute("kernel_shape", {2, 2}))},
        {"'c'", [](Example& e) { e.relu = node("Relu", {"x"}, "r"); }},
        {"expected Conv", [](Example& e) { e.relu = node("Tanh", {"c"}, "r"); }},
        {"ceil_mode",
         [](Example& e) {
             e.pool = node("MaxPool", {"r"}, "p",
                           attribute("kernel_shape", {2, 2}) + attribute("ceil_mode", 1));
         }},
        {"no padding",
         [](Example& e) {
             e.pool = node("MaxPool", {"r"}, "p",
                           attribute("kernel_shape", {2, 2}) + attribute("pads", {1, 1, 1, 1}));
         }},
        {"axis 1",
         [](Example& e) { e.flatten = node("Flatten", {"p"}, "f", attribute("axis", 2)); }},
        {"18 inputs",
         [](Example& e) {
             e.gemm = node("Gemm", {"f", "M"}, "g");
         }},
        {"transA",
         [](Example& e) {
             e.gemm = node("Gemm", {"f", "M"}, "g", attribute("transA", 1));
         }},
        {"bias of 4",
         [](Example& e) {
             e.add = node("Add", {"g", "b"}, "y");
         }},
        {"bias of 4",
         [](Example& e) {
             e.gemm = node("Gemm", {"f", "M", "d"}, "g", attribute("transB", 1));
         }},
    });
}

TEST(Onnx, CONV_4_inputs_outputs_and_parameters_of_other_shapes_are_refused_by_name) {
    expect_onnx_refused({
        {"one output",
         [](Example& e) {
             e.output = value_info(12, "z", {1, 4});
         }},
        {"an input", [](Example& e) { e.input.clear(); }},
        {"one input",
         [](Example& e) {
             e.input += value_info(11, "w", {1, 2, 5, 6});
         }},
        {"channels x height",
         [](Example& e) {
             e.input = value_info(11, "x", {1, 60});
         }},
        {"extent",
         [](Example& e) {
             e.input = value_info(11, "x", {1, 2, 0, 6});
         }},
        {"2^20",
         [](Example& e) {
             e.input = value_info(11, "x", {1, 2, 2048, 2048});
         }},
        {"stands twice",
         [](Example& e) {
             e.parameters += floats("b", {3}, {0, 0, 0});
         }},
        {"as many elements",
         [](Example& e) {
             e.parameters += floats("z", {3}, {0, 0});
         }},
        {"more than 2^28",
         [](Example& e) {
             e.parameters += floats("z", {1 << 20, 1 << 20}, {0, 0});
         }},
        {"NaN",
         [](Example& e) {
             e.parameters += floats("z", {1}, {std::numeric_limits<float>::quiet_NaN()});
         }},
        {"float32", [](Example& e) { e.parameters += bytes(5, number(2, 11) + bytes(8, "z")); }},
        {"in this file",
         [](Example& e) {
             e.parameters += bytes(5, number(2, 1) + bytes(8, "z") + number(14, 1));
         }},
        {"dense", [](Example& e) { e.parameters += bytes(15, ""); }},
    });
}

TEST(Onnx, CONV_4_no_prefix_and_no_flipped_byte_does_more_than_throw) {
    std::mt19937 random(4);
    const std::string file = model(Example(random).graph());
    const auto survives = [](const std::string& changed) {
        try {
            parse_onnx(std::as_bytes(std::span(changed)), "net.onnx");
        } catch (const BadInput&) {
        }
    };
    for (std::size_t length = 0; length < file.size(); ++length) {
        EXPECT_THROW(parse_onnx(std::as_bytes(std::span(file).first(length)), "net.onnx"),
                     BadInput);
    }
    for (std::size_t at = 0; at < file.size(); ++at) {
        std::string changed = file;
        changed[at] = static_cast<char>(random());
        survives(changed);
    }
}

TEST(Onnx, CONV_4_configurations_that_no_network_has_are_refused) {
    const auto refused = [](const std::string& layers, const std::string& expected) {
        const std::string text =
            R"({"model_type":"cnn","input":{"height":4,"width":4,"channels":1},"layers":[)" +
            layers + "]}";
        try {
            parse_cnn_config(text, "config.json");
            ADD_FAILURE() << text << " was accepted";
        } catch (const BadInput& error) {
            EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
        }
    };
    refused("", "layers");
    refused(R"({"type":"relu"})", "layers");
    refused(R"({"type":"tanh"})", "type");
    refused(R"({"type":"linear","tensor":"w"})", "outputs");
    refused(R"({"type":"linear","tensor":"w","outputs":0})", "outputs");
    refused(R"({"type":"linear","tensor":"w","outputs":3,"kernel":[1,1]})", "kernel");
    refused(R"({"type":"max_pool","kernel":[5,1],"stride":1})", "kernel");
    refused(R"({"type":"max_pool","kernel":[2,2],"stride":0})", "stride");
    refused(
        R"({"type":"convolution","tensor":"w","filters":1,"padding":3,"kernel":[3,3],"stride":1})",
        "kernel");
}

TEST(Idx, CONV_4_files_that_are_not_what_they_say_are_refused) {
    const auto path = std::filesystem::temp_directory_path() / "slip_idx_test";
    const auto read = [&](const std::string& contents) {
        std::ofstream(path, std::ios::binary) << contents;
        return read_idx_labels(path);
    };
    const std::string header("\0\0\x08\x01\0\0\0\x02", 8);
    EXPECT_EQ(read(header + "\x05\x06"), (std::vector<std::uint8_t>{5, 6}));
    EXPECT_THROW(read(header + "\x05"), BadInput);
    EXPECT_THROW(read(header + "\x05\x06\x07"), BadInput);
    EXPECT_THROW(read(header.substr(0, 7)), BadInput);
    EXPECT_THROW(read(std::string("\0\0\x08\x01\xff\xff\xff\xff", 8) + "\x05"), BadInput);
    EXPECT_THROW(read_idx_images(path), BadInput);
    std::filesystem::remove(path);
}

}  // namespace
}  // namespace slip::importing
