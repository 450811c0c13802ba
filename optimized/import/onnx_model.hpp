// An ONNX file as it stands: names, attributes and constants, before anything is understood. The
// fields are those of the format's onnx.proto.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slip::importing::onnx {

struct Attribute {
    std::string name;
    float f = 0;
    std::int64_t i = 0;
    std::string s;
    std::vector<std::int64_t> ints;
};

struct Node {
    std::string op_type;
    std::string domain;
    std::vector<std::string> input;
    std::vector<std::string> output;
    std::vector<Attribute> attribute;

    /// Null if there is no attribute of this name.
    const Attribute* find(std::string_view name) const;
};

/// A constant. Its elements stand in one of the three places.
struct TensorData {
    enum DataType : std::int64_t { float32 = 1, int64 = 7 };
    std::string name;
    std::vector<std::int64_t> dims;
    std::int64_t data_type = 0;
    bool external = false;
    bool has_raw_data = false;
    std::string_view raw_data;  // inside the file
    std::vector<float> float_data;
    std::vector<std::int64_t> int64_data;
};

/// An input or output; a dimension without a number is 0.
struct Value {
    std::string name;
    std::vector<std::int64_t> dims;
};

struct Graph {
    std::vector<Node> node;
    std::vector<TensorData> initializer;
    std::vector<Value> input;
    std::vector<Value> output;
};

/// Reads the graph of a model. `file` outlives the result. Throws BadInput, beginning with
/// `origin`, for bytes that are no ONNX model and for sparse initializers.
Graph parse_model(std::string_view file, const std::string& origin);

}  // namespace slip::importing::onnx
