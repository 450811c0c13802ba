#include "optimized/import/onnx_model.hpp"

#include "optimized/base/error.hpp"
#include "optimized/import/protobuf.hpp"

namespace slip::importing::onnx {
namespace {

using protobuf::Field;
using protobuf::Reader;

std::string_view bytes_of(const Field& field, const std::string& what) {
    if (field.type != Field::Type::bytes) {
        throw BadInput(what + ": expected a string in field " + std::to_string(field.number));
    }
    return field.bytes;
}

std::string text_of(const Field& field, const std::string& what) {
    return std::string(bytes_of(field, what));
}

std::int64_t integer_of(const Field& field, const std::string& what) {
    if (field.type != Field::Type::varint) {
        throw BadInput(what + ": expected an integer in field " + std::to_string(field.number));
    }
    return static_cast<std::int64_t>(field.value);
}

Attribute parse_attribute(std::string_view message, const std::string& what) {
    Attribute attribute;
    Reader reader(message, what);
    while (const auto field = reader.next()) {
        switch (field->number) {
            case 1:
                attribute.name = text_of(*field, what);
                break;
            case 2:
                if (field->type != Field::Type::fixed32) {
                    throw BadInput(what + ": expected a float in field 2");
                }
                attribute.f = protobuf::float_of(field->value);
                break;
            case 3:
                attribute.i = integer_of(*field, what);
                break;
            case 4:
                attribute.s = text_of(*field, what);
                break;
            case 8:
                protobuf::append_integers(*field, what, attribute.ints);
                break;
            default:
                break;
        }
    }
    return attribute;
}

Node parse_node(std::string_view message, const std::string& what) {
    Node node;
    Reader reader(message, what);
    while (const auto field = reader.next()) {
        switch (field->number) {
            case 1:
                node.input.push_back(text_of(*field, what));
                break;
            case 2:
                node.output.push_back(text_of(*field, what));
                break;
            case 4:
                node.op_type = text_of(*field, what);
                break;
            case 5:
                node.attribute.push_back(parse_attribute(bytes_of(*field, what), what));
                break;
            case 7:
                node.domain = text_of(*field, what);
                break;
            default:
                break;
        }
    }
    return node;
}

TensorData parse_tensor(std::string_view message, const std::string& what) {
    constexpr std::int64_t external = 1;  // of data_location
    TensorData tensor;
    Reader reader(message, what);
    while (const auto field = reader.next()) {
        switch (field->number) {
            case 1:
                protobuf::append_integers(*field, what, tensor.dims);
                break;
            case 2:
                tensor.data_type = integer_of(*field, what);
                break;
            case 4:
                protobuf::append_floats(*field, what, tensor.float_data);
                break;
            case 7:
                protobuf::append_integers(*field, what, tensor.int64_data);
                break;
            case 8:
                tensor.name = text_of(*field, what);
                break;
            case 9:
                tensor.raw_data = bytes_of(*field, what);
                tensor.has_raw_data = true;
                break;
            case 14:
                tensor.external = integer_of(*field, what) == external;
                break;
            default:
                break;
        }
    }
    return tensor;
}

/// The last field `number` of a message that holds another message, or nothing.
std::string_view submessage(std::string_view message, std::uint32_t number,
                            const std::string& what) {
    std::string_view found;
    Reader reader(message, what);
    while (const auto field = reader.next()) {
        if (field->number == number) found = bytes_of(*field, what);
    }
    return found;
}

/// ValueInfoProto: name, and type.tensor_type.shape.dim[].dim_value.
Value parse_value(std::string_view message, const std::string& what) {
    Value value{std::string(submessage(message, 1, what)), {}};
    const std::string_view tensor_type = submessage(submessage(message, 2, what), 1, what);
    Reader shape(submessage(tensor_type, 2, what), what);
    while (const auto dim = shape.next()) {
        if (dim->number != 1) continue;
        std::int64_t extent = 0;
        Reader reader(bytes_of(*dim, what), what);
        while (const auto field = reader.next()) {
            if (field->number == 1) extent = integer_of(*field, what);
        }
        value.dims.push_back(extent);
    }
    return value;
}

}  // namespace

const Attribute* Node::find(std::string_view name) const {
    for (const Attribute& candidate : attribute) {
        if (candidate.name == name) return &candidate;
    }
    return nullptr;
}

Graph parse_model(std::string_view file, const std::string& origin) {
    const std::string_view message = submessage(file, 7, origin);
    if (message.empty()) throw BadInput(origin + ": expected an ONNX model with a graph");
    Graph graph;
    Reader reader(message, origin);
    while (const auto field = reader.next()) {
        switch (field->number) {
            case 1:
                graph.node.push_back(parse_node(bytes_of(*field, origin), origin));
                break;
            case 5:
                graph.initializer.push_back(parse_tensor(bytes_of(*field, origin), origin));
                break;
            case 11:
                graph.input.push_back(parse_value(bytes_of(*field, origin), origin));
                break;
            case 12:
                graph.output.push_back(parse_value(bytes_of(*field, origin), origin));
                break;
            case 15:
                throw BadInput(origin + ": expected dense initializers");
            default:
                break;
        }
    }
    return graph;
}

}  // namespace slip::importing::onnx
