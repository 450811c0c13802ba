// Safetensors files: header, shapes, offsets, and the values of small tensors.
#include <algorithm>
#include <cmath>

#include "optimized/base/error.hpp"
#include "optimized/import/safetensors.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::safetensors_fuzz {
namespace {

using namespace importing;

Bytes encode(const std::vector<Tensor>& tensors,
             const std::map<std::string, std::string>& metadata) {
    Bytes file = bytes_of(encode_safetensors_header(tensors, metadata));
    for (const Tensor& tensor : tensors) {
        file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
    }
    return file;
}

/// Each tensor has the bytes that its shape implies, and together they are the data section.
std::vector<Tensor> in_order_of_the_file(const SafetensorsHeader& header) {
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : header.tensors) {
        expect(name == tensor.name, "a tensor is listed under another name");
        expect(tensor.bytes.size() == tensor.elements() * size_of(tensor.dtype),
               "a tensor's bytes are not those of its shape");
        tensors.push_back(tensor);
    }
    std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
        return a.bytes.data() != b.bytes.data() ? a.bytes.data() < b.bytes.data()
                                                : a.bytes.size() < b.bytes.size();
    });
    return tensors;
}

void check_floats(const Tensor& tensor) {
    std::vector<float> values;
    if (!accepts<BadInput>([&] { values = to_floats(tensor); })) return;
    expect(values.size() == tensor.elements(), "to_floats gives another number of values");
    for (const float value : values) expect(std::isfinite(value), "to_floats gives a NaN");
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    static const Bytes data(64, std::byte{0x3c});
    const auto tensor = [&](const char* name, DType dtype, std::vector<std::size_t> shape) {
        Tensor made{name, dtype, std::move(shape), {}};
        made.bytes = std::span(data).first(made.elements() * size_of(dtype));
        return made;
    };
    return {encode({}, {}), encode({tensor("a", DType::f32, {2, 3})}, {{"format", "pt"}}),
            encode({tensor("a", DType::bf16, {4}), tensor("b", DType::f16, {2, 1}),
                    tensor("c", DType::i8, {0, 7}), tensor("d", DType::i16, {}),
                    tensor("e", DType::i32, {1, 2, 1})},
                   {})};
}

bool check(std::span<const std::byte> input) {
    SafetensorsHeader header;
    if (!accepts<BadInput>([&] { header = parse_safetensors(input, "file"); })) return false;
    const std::vector<Tensor> tensors = in_order_of_the_file(header);
    const auto* position = input.data() + input.size();
    for (auto tensor = tensors.rbegin(); tensor != tensors.rend(); ++tensor) {
        position -= tensor->bytes.size();
        expect(tensor->bytes.data() == position, "the tensors do not tile the data");
        check_floats(*tensor);
    }
    const Bytes file = encode(tensors, header.metadata);
    const SafetensorsHeader again = parse_safetensors(file, "file");
    expect(encode(in_order_of_the_file(again), again.metadata) == file,
           "what was read and written again is another file");
    return true;
}

const Target target{"safetensors_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::safetensors_fuzz
