// Writes ONNX files, message by message, for tests of what reads them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace slip::testing::onnx_encoder {

inline std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    return bytes + static_cast<char>(value);
}

inline std::string number(unsigned field, std::int64_t value) {
    return varint(field << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string bytes(unsigned field, const std::string& value) {
    return varint(field << 3 | 2) + varint(value.size()) + value;
}

inline std::string raw(const std::vector<float>& values) {
    std::string data(values.size() * sizeof(float), 0);
    std::memcpy(data.data(), values.data(), data.size());
    return data;
}

inline std::string dims(const std::vector<std::int64_t>& shape) {
    std::string message;
    for (const std::int64_t extent : shape) message += number(1, extent);
    return message;
}

inline std::string floats(const std::string& name, const std::vector<std::int64_t>& shape,
                          const std::vector<float>& values) {
    return bytes(5, dims(shape) + number(2, 1) + bytes(8, name) + bytes(9, raw(values)));
}

inline std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
    std::string packed;
    for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
    return bytes(5, number(1, static_cast<std::int64_t>(values.size())) + number(2, 7) +
                        bytes(7, packed) + bytes(8, name));
}

inline std::string value_info(unsigned field, const std::string& name,
                              const std::vector<std::int64_t>& shape) {
    std::string dimensions;
    for (const std::int64_t extent : shape) dimensions += bytes(1, number(1, extent));
    return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, dimensions))));
}

inline std::string attribute(const std::string& name, const std::vector<std::int64_t>& values) {
    std::string message = bytes(1, name);
    for (const std::int64_t value : values) message += number(8, value);
    return bytes(5, message);
}

inline std::string attribute(const std::string& name, std::int64_t value) {
    return bytes(5, bytes(1, name) + number(3, value));
}

inline std::string attribute(const std::string& name, const char* value) {
    return bytes(5, bytes(1, name) + bytes(4, value));
}

inline std::string node(const std::string& type, const std::vector<std::string>& inputs,
                        const std::string& output, const std::string& attributes = "") {
    std::string message;
    for (const std::string& input : inputs) message += bytes(1, input);
    return bytes(1, message + bytes(2, output) + bytes(4, type) + attributes);
}

/// A model whose graph is the concatenation of nodes, initializers, inputs and outputs.
inline std::string model(const std::string& graph) { return number(1, 7) + bytes(7, graph); }

}  // namespace slip::testing::onnx_encoder
