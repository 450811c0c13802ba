#include "optimized/import/onnx.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/onnx_model.hpp"

namespace slip::importing {
namespace {

using base::CnnLayer;
using base::Convolution;

/// PARAM-3: rows and columns of a matrix.
using base::parameters::largest_extent;

/// A constant of the graph; `shape` as ONNX gives it.
struct Constant {
    std::vector<std::size_t> shape;
    std::vector<float> values;
};

/// Reads the graph node by node. `current_` is the value that the chain has reached.
class Importer {
public:
    explicit Importer(std::filesystem::path origin) : origin_(std::move(origin)) {}

    OnnxNetwork read(const onnx::Graph& graph) {
        for (const onnx::TensorData& tensor : graph.initializer) read_constant(tensor);
        read_input(graph);
        for (const onnx::Node& node : graph.node) read_node(node);
        if (graph.output.size() != 1 || graph.output[0].name != current_) {
            fail("expected one output, that of the last node");
        }
        require_complete();
        return std::move(network_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw BadInput(origin_.string() + ": " + what);
    }
    [[noreturn]] void fail(const onnx::Node& node, const std::string& expected) const {
        const std::string name = node.output.empty() ? "" : node.output[0];
        fail(node.op_type + " node '" + name + "': expected " + expected);
    }

    // --- constants -------------------------------------------------------------------------------

    /// The extents of a shape, whose product is at most 2^28 so that no count overflows.
    template <class Extents>
    std::vector<std::size_t> extents(const Extents& dims, const std::string& where) const {
        std::vector<std::size_t> shape;
        std::size_t product = 1;
        for (const auto extent : dims) {
            if (extent < 1 || extent > std::int64_t{1} << 28)
                fail(where + " has an extent that is not 1 to 2^28");
            product *= static_cast<std::size_t>(extent);
            if (product > std::size_t{1} << 28) fail(where + " has more than 2^28 elements");
            shape.push_back(static_cast<std::size_t>(extent));
        }
        return shape;
    }

    static std::size_t count(const std::vector<std::size_t>& shape) {
        std::size_t product = 1;
        for (const std::size_t extent : shape) product *= extent;
        return product;
    }

    void read_constant(const onnx::TensorData& tensor) {
        const std::string where = "initializer '" + tensor.name + "'";
        if (tensor.external) {
            fail(where + ": expected its data in this file");
        }
        const auto shape = extents(tensor.dims, where);
        if (tensor.data_type == onnx::TensorData::int64) return read_shape(tensor, shape, where);
        if (tensor.data_type != onnx::TensorData::float32)
            fail(where + ": expected float32 elements");
        Constant constant{shape, std::vector<float>()};
        const std::size_t elements = count(shape);
        if (tensor.has_raw_data ? tensor.raw_data.size() != elements * sizeof(float)
                                : tensor.float_data.size() != elements) {
            fail(where + ": expected as many elements as its shape has");
        }
        constant.values.resize(elements);
        if (tensor.has_raw_data) {
            std::memcpy(constant.values.data(), tensor.raw_data.data(), elements * sizeof(float));
        } else {
            for (std::size_t i = 0; i < elements; ++i) {
                constant.values[i] = tensor.float_data[i];
            }
        }
        for (const float value : constant.values) {
            if (!std::isfinite(value)) fail(where + " contains a NaN or an infinity");  // DECO-5
        }
        if (!constants_.emplace(tensor.name, std::move(constant)).second)
            fail(where + " stands twice");
    }

    /// An int64 vector: the argument of a Reshape.
    void read_shape(const onnx::TensorData& tensor, const std::vector<std::size_t>& shape,
                    const std::string& where) {
        const std::size_t elements = count(shape);
        std::vector<std::int64_t> values(0);
        if (elements > 8) fail(where + ": expected a shape of at most 8 extents");
        if (tensor.has_raw_data) {
            if (tensor.raw_data.size() != elements * sizeof(std::int64_t)) {
                fail(where + ": expected as many elements as its shape has");
            }
            values.resize(elements);
            std::memcpy(values.data(), tensor.raw_data.data(), tensor.raw_data.size());
        } else {
            values.assign(tensor.int64_data.begin(), tensor.int64_data.end());
        }
        if (values.size() != elements) fail(where + ": expected as many elements as its shape has");
        if (!shapes_.emplace(tensor.name, std::move(values)).second) fail(where + " stands twice");
    }

    const Constant* constant(const std::string& name) const {
        const auto found = constants_.find(name);
        return found == constants_.end() ? nullptr : &found->second;
    }

    // --- input -----------------------------------------------------------------------------------

    /// Older files list the initializers among the inputs.
    void read_input(const onnx::Graph& graph) {
        for (const onnx::Value& input : graph.input) {
            if (constants_.contains(input.name) || shapes_.contains(input.name)) continue;
            if (!current_.empty())
                fail("expected one input, found '" + current_ + "' and '" + input.name + "'");
            current_ = input.name;
            const auto& dims = input.dims;
            const std::string where = "input '" + current_ + "'";
            if (dims.size() != 4)
                fail(where + ": expected the shape 1 x channels x height x width");
            std::vector<std::int64_t> image;
            for (std::size_t axis = 1; axis < 4; ++axis) image.push_back(dims[axis]);
            const auto shape = extents(image, where);
            if (count(shape) > largest_extent)
                fail(where + ": expected an image of at most 2^20 elements");
            network_.config.C = C_ = shape[0];
            network_.config.H = H_ = shape[1];
            network_.config.W = W_ = shape[2];
        }
        if (current_.empty()) fail("expected an input");
    }

    // --- nodes -----------------------------------------------------------------------------------

    void read_node(const onnx::Node& node) {
        const std::string& type = node.op_type;
        if (node.input.size() < 1 || node.output.size() < 1) fail(node, "an input and an output");
        if (type == "Reshape" && constant(node.input[0]) != nullptr) return reshape_constant(node);
        require_chain(node);
        if (type == "Conv") {
            read_convolution(node);
        } else if (type == "MatMul") {
            read_linear(node, false);
        } else if (type == "Gemm") {
            read_gemm(node);
        } else if (type == "Add") {
            read_bias(node);
        } else if (type == "Relu") {
            append({.kind = CnnLayer::Kind::relu, .window = {.H = H_, .W = W_, .C = C_}});
        } else if (type == "MaxPool" || type == "AveragePool") {
            read_pool(node);
        } else if (type == "GlobalAveragePool") {
            append_pool(node, CnnLayer::Kind::average_pool,
                        {.H = H_, .W = W_, .C = C_, .kH = H_, .kW = W_, .N = C_});
        } else if (type == "Reshape" || type == "Flatten") {
            flatten(node);
        } else if (type != "Identity" && type != "Dropout") {
            fail(node,
                 "Conv, MatMul, Gemm, Add, Relu, MaxPool, AveragePool, GlobalAveragePool, Reshape, "
                 "Flatten, "
                 "Dropout or Identity");
        }
        current_ = node.output[0];
    }

    /// The node must take the value that the chain has reached; an Add may have it second.
    void require_chain(const onnx::Node& node) const {
        const bool second =
            node.op_type == "Add" && node.input.size() == 2 && node.input[1] == current_;
        if (node.input[0] != current_ && !second) {
            fail(node, "the output of the node before it, '" + current_ +
                           "', as its input; only chains are read");
        }
    }

    void append(CnnLayer layer) { network_.config.layers.push_back(std::move(layer)); }

    void reshape_constant(const onnx::Node& node) {
        Constant reshaped = *constant(node.input[0]);
        const auto& wanted = reshape_argument(node);
        reshaped.shape = resolve(node, wanted, reshaped.values.size());
        if (!constants_.emplace(node.output[0], std::move(reshaped)).second)
            fail(node, "a new name for its output");
    }

    const std::vector<std::int64_t>& reshape_argument(const onnx::Node& node) const {
        const auto found = node.input.size() == 2 ? shapes_.find(node.input[1]) : shapes_.end();
        if (found == shapes_.end()) fail(node, "a constant shape");
        return found->second;
    }

    /// A shape with at most one -1, for `elements` elements.
    std::vector<std::size_t> resolve(const onnx::Node& node,
                                     const std::vector<std::int64_t>& wanted,
                                     std::size_t elements) const {
        std::vector<std::size_t> shape;
        std::size_t known = 1;
        std::optional<std::size_t> open;
        for (const std::int64_t extent : wanted) {
            const bool missing = extent == -1 && !open;
            if (missing) open = shape.size();
            if (!missing && (extent < 1 || static_cast<std::size_t>(extent) > elements))
                fail(node, "a shape for its elements");
            shape.push_back(missing ? 1 : static_cast<std::size_t>(extent));
            known *= shape.back();
            if (known > elements) fail(node, "a shape for its elements");
        }
        if (open) shape[*open] = elements / known;
        if (count(shape) != elements) fail(node, "a shape for its elements");
        return shape;
    }

    /// From here on the image is a vector in ONNX's order; a linear layer reorders its columns.
    void flatten(const onnx::Node& node) {
        const std::size_t elements = H_ * W_ * C_;
        std::vector<std::size_t> shape{1, elements};
        if (node.op_type == "Reshape") shape = resolve(node, reshape_argument(node), elements);
        if (node.op_type == "Flatten" && integer(node, "axis", 1) != 1) fail(node, "axis 1");
        if (shape != std::vector<std::size_t>{1, elements} &&
            shape != std::vector<std::size_t>{elements}) {
            fail(node, "the image as one vector");
        }
        flat_ = true;
    }

    // --- attributes ------------------------------------------------------------------------------

    static std::int64_t integer(const onnx::Node& node, const char* name, std::int64_t otherwise) {
        const auto* found = node.find(name);
        return found == nullptr ? otherwise : found->i;
    }

    static float real(const onnx::Node& node, const char* name, float otherwise) {
        const auto* found = node.find(name);
        return found == nullptr ? otherwise : found->f;
    }

    /// `length` integers from 0 to 2^20; `otherwise` each if the attribute is absent.
    std::vector<std::size_t> integers(const onnx::Node& node, const char* name, std::size_t length,
                                      std::size_t otherwise) const {
        const auto* found = node.find(name);
        if (found == nullptr) return std::vector<std::size_t>(length, otherwise);
        if (found->ints.size() != length)
            fail(node, std::string(name) + " with " + std::to_string(length) + " entries");
        std::vector<std::size_t> values;
        for (const std::int64_t value : found->ints) {
            if (value < 0 || value > std::int64_t{largest_extent})
                fail(node, std::string(name) + " from 0 to 2^20");
            values.push_back(static_cast<std::size_t>(value));
        }
        return values;
    }

    /// The one stride of both directions.
    std::size_t stride(const onnx::Node& node) const {
        const auto strides = integers(node, "strides", 2, 1);
        if (strides[0] != strides[1] || strides[0] < 1) fail(node, "equal strides of at least 1");
        return strides[0];
    }

    /// CNN-1 has one padding, the same on every side.
    std::size_t padding(const onnx::Node& node, const Convolution& window) const {
        const auto* mode = node.find("auto_pad");
        if (mode != nullptr && (mode->s == "SAME_UPPER" || mode->s == "SAME_LOWER")) {
            if (window.stride != 1 || window.kH != window.kW || window.kH % 2 == 0) {
                fail(node, "stride 1 and an odd square window for padding 'SAME'");
            }
            return (window.kH - 1) / 2;
        }
        if (mode != nullptr && mode->s == "VALID") return 0;
        if (mode != nullptr && mode->s != "NOTSET") fail(node, "a known auto_pad");
        const auto pads = integers(node, "pads", 4, 0);
        for (const std::size_t pad : pads) {
            if (pad != pads[0]) fail(node, "the same padding on every side");
        }
        return pads[0];
    }

    /// Window, stride and padding of a node, for the image that the chain has reached.
    Convolution window(const onnx::Node& node, std::size_t kH, std::size_t kW,
                       std::size_t filters) const {
        if (flat_) fail(node, "an image, not a vector");
        for (const std::size_t dilation : integers(node, "dilations", 2, 1)) {
            if (dilation != 1) fail(node, "no dilation");
        }
        Convolution shape{
            .H = H_, .W = W_, .C = C_, .kH = kH, .kW = kW, .N = filters, .stride = stride(node)};
        shape.padding = padding(node, shape);
        if (kH < 1 || kW < 1 || kH > H_ + 2 * shape.padding || kW > W_ + 2 * shape.padding) {
            fail(node, "a window that fits the image");
        }
        if (shape.padding >= kH || shape.padding >= kW)
            fail(node, "a padding smaller than the window");
        if (shape.outputs() > largest_extent || shape.patch() > largest_extent ||
            shape.positions() > largest_extent) {
            fail(node, "at most 2^20 outputs");
        }
        return shape;
    }

    // --- layers ----------------------------------------------------------------------------------

    void read_convolution(const onnx::Node& node) {
        const Constant* kernel = node.input.size() >= 2 ? constant(node.input[1]) : nullptr;
        if (kernel == nullptr || kernel->shape.size() != 4)
            fail(node, "a constant kernel N x C x kH x kW");
        const auto& s = kernel->shape;
        if (integer(node, "group", 1) != 1) fail(node, "one group of channels");
        if (s[1] != C_) fail(node, "a kernel for " + std::to_string(C_) + " channels");
        const auto given = node.find("kernel_shape");
        if (given != nullptr &&
            integers(node, "kernel_shape", 2, 0) != std::vector<std::size_t>{s[2], s[3]}) {
            fail(node, "the kernel_shape of its kernel");
        }
        const Convolution shape = window(node, s[2], s[3], s[0]);
        CnnLayer layer{
            .kind = CnnLayer::Kind::convolution, .tensor = matrix_name(node), .window = shape};
        std::vector<float> matrix(kernel->values.size());
        for (std::size_t n = 0; n < shape.N; ++n) {
            for (std::size_t c = 0; c < shape.C; ++c) {
                for (std::size_t u = 0; u < shape.kH; ++u) {
                    for (std::size_t v = 0; v < shape.kW; ++v) {
                        matrix[n * shape.patch() + (u * shape.kW + v) * shape.C + c] =
                            kernel->values[((n * shape.C + c) * shape.kH + u) * shape.kW + v];
                    }
                }
            }
        }
        add_parameter(node, layer.tensor, std::move(matrix));
        append(std::move(layer));
        H_ = shape.H_o();
        W_ = shape.W_o();
        C_ = shape.N;
        if (node.input.size() >= 3) set_bias(node, node.input[2]);
    }

    void read_gemm(const onnx::Node& node) {
        if (real(node, "alpha", 1) != 1 || real(node, "beta", 1) != 1 ||
            integer(node, "transA", 0) != 0) {
            fail(node, "alpha 1, beta 1 and transA 0");
        }
        read_linear(node, integer(node, "transB", 0) != 0);
        if (node.input.size() >= 3) set_bias(node, node.input[2]);
    }

    /// `transposed`: the constant is m x n as ours; otherwise n x m.
    void read_linear(const onnx::Node& node, bool transposed) {
        const Constant* weights = node.input.size() >= 2 ? constant(node.input[1]) : nullptr;
        if (weights == nullptr || weights->shape.size() != 2) fail(node, "a constant matrix");
        const std::size_t n = H_ * W_ * C_;
        const std::size_t m = weights->shape[transposed ? 0 : 1];
        if (weights->shape[transposed ? 1 : 0] != n)
            fail(node, "a matrix for " + std::to_string(n) + " inputs");
        if (!flat_ && (H_ != 1 || W_ != 1)) fail(node, "a vector, not an image");
        if (m > largest_extent || n > largest_extent) fail(node, "at most 2^20 rows and columns");
        std::vector<float> matrix(m * n);
        for (std::size_t row = 0; row < m; ++row) {
            for (std::size_t c = 0; c < C_; ++c) {
                for (std::size_t position = 0; position < H_ * W_; ++position) {
                    const std::size_t theirs = c * H_ * W_ + position;
                    matrix[row * n + position * C_ + c] =
                        weights->values[transposed ? row * n + theirs : theirs * m + row];
                }
            }
        }
        CnnLayer layer{.kind = CnnLayer::Kind::linear, .tensor = matrix_name(node), .m = m, .n = n};
        add_parameter(node, layer.tensor, std::move(matrix));
        append(std::move(layer));
        H_ = W_ = 1;
        C_ = m;
        flat_ = true;
    }

    void read_bias(const onnx::Node& node) {
        if (node.input.size() != 2) fail(node, "two inputs");
        set_bias(node, node.input[node.input[0] == current_ ? 1 : 0]);
    }

    /// The bias of the last layer: one number a filter or output.
    void set_bias(const onnx::Node& node, const std::string& name) {
        const Constant* bias = constant(name);
        auto& layers = network_.config.layers;
        if (bias == nullptr || bias->values.size() != C_ || layers.empty() ||
            !layers.back().offloaded() || !layers.back().bias.empty()) {
            fail(node, "a constant bias of " + std::to_string(C_) +
                           " numbers after Conv, MatMul or Gemm");
        }
        // ONNX aligns shapes on the right: channels x 1 x 1 for an image, outputs for a vector.
        const std::size_t trailing = flat_ ? 0 : 2;
        const auto& shape = bias->shape;
        const bool one_dimension = node.op_type != "Add" && shape.size() == 1;
        const bool aligned = shape.size() > trailing && shape[shape.size() - 1 - trailing] == C_;
        if (!one_dimension && !aligned && C_ != 1) fail(node, "a bias of one number a channel");
        layers.back().bias = name;
        add_parameter(node, name, bias->values);
    }

    void read_pool(const onnx::Node& node) {
        const auto size = integers(node, "kernel_shape", 2, 0);
        if (integer(node, "ceil_mode", 0) != 0) fail(node, "ceil_mode 0");
        const bool largest = node.op_type == "MaxPool";
        append_pool(node, largest ? CnnLayer::Kind::max_pool : CnnLayer::Kind::average_pool,
                    window(node, size[0], size[1], C_));
    }

    void append_pool(const onnx::Node& node, CnnLayer::Kind kind, const Convolution& shape) {
        if (flat_) fail(node, "an image, not a vector");
        if (shape.padding != 0) fail(node, "no padding");
        append({.kind = kind, .window = shape});
        H_ = shape.H_o();
        W_ = shape.W_o();
    }

    /// As everywhere in this project, a matrix's name does not have the ".weight" of its tensor.
    static std::string matrix_name(const onnx::Node& node) {
        constexpr std::string_view ending = ".weight";
        const std::string& name = node.input[1];
        const bool ends = name.size() > ending.size() && name.ends_with(ending);
        return ends ? name.substr(0, name.size() - ending.size()) : name;
    }

    void add_parameter(const onnx::Node& node, const std::string& name, std::vector<float> values) {
        const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
        if (name.empty() || name.size() > 255 ||
            !std::all_of(name.begin(), name.end(), printable)) {
            fail(node, "parameters with names of 1 to 255 printable ASCII characters");
        }
        if (!network_.parameters.emplace(name, std::move(values)).second) {
            fail(node, "parameters that no other node uses; '" + name + "' is used twice");
        }
    }

    void require_complete() const {
        bool offloaded = false;
        for (const CnnLayer& layer : network_.config.layers)
            offloaded = offloaded || layer.offloaded();
        if (!offloaded) fail("expected a network with a Conv, MatMul or Gemm");
    }

    std::filesystem::path origin_;
    OnnxNetwork network_;
    std::map<std::string, Constant> constants_;
    std::map<std::string, std::vector<std::int64_t>> shapes_;
    std::string current_;
    std::size_t H_ = 0, W_ = 0, C_ = 0;  // of the value that the chain has reached
    bool flat_ = false;                  // it is a vector now
};

}  // namespace

OnnxNetwork parse_onnx(std::span<const std::byte> bytes, const std::filesystem::path& origin) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return Importer(origin).read(onnx::parse_model(text, origin.string()));
}

OnnxNetwork read_onnx(const std::filesystem::path& path) {
    const base::MappedFile file(path);
    return parse_onnx(file.bytes(), path);
}

}  // namespace slip::importing
