#include "optimized/import/tensors.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "optimized/base/error.hpp"

namespace slip::importing {
namespace {

/// Binary16 to binary32, exact: every binary16 number is a binary32 number.
float from_f16(std::uint16_t bits) {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0) {  // zero and subnormal numbers: fraction * 2^-24
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    // Infinities and NaNs keep the highest exponent; the others move from bias 15 to bias 127.
    const std::uint32_t wide_exponent = exponent == 0x1f ? 0xff : exponent + (127 - 15);
    return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

/// A bfloat16 number is the upper half of a binary32 number.
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

template <float convert(std::uint16_t)>
void convert_halves(std::span<const std::byte> bytes, std::vector<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, bytes.data() + 2 * i, sizeof bits);
        values[i] = convert(bits);
    }
}

}  // namespace

std::size_t size_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
        case DType::i32:
            return 4;
        case DType::f16:
        case DType::bf16:
        case DType::i16:
            return 2;
        case DType::i8:
        case DType::u8:
            return 1;
    }
    throw InternalError("size_of: no such element type");
}

const char* name_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "F32";
        case DType::f16:
            return "F16";
        case DType::bf16:
            return "BF16";
        case DType::i8:
            return "I8";
        case DType::i16:
            return "I16";
        case DType::i32:
            return "I32";
        case DType::u8:
            return "U8";
    }
    throw InternalError("name_of: no such element type");
}

std::size_t Tensor::elements() const {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
}

Tensor Tensor::row(std::size_t row) const {
    base::require(shape.size() == 2 && row < shape[0], "Tensor::row: there is no such row");
    const std::size_t size = shape[1] * size_of(dtype);
    return {name, dtype, {shape[1]}, bytes.subspan(row * size, size)};
}

std::vector<float> to_floats(const Tensor& tensor, bool require_finite) {
    std::vector<float> values(tensor.elements());
    base::require(tensor.bytes.size() == values.size() * size_of(tensor.dtype),
                  "to_floats: the bytes of a tensor do not match its shape");
    switch (tensor.dtype) {
        case DType::f32:
            if (!values.empty()) {
                std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
            }
            break;
        case DType::f16:
            convert_halves<from_f16>(tensor.bytes, values);
            break;
        case DType::bf16:
            convert_halves<from_bf16>(tensor.bytes, values);
            break;
        default:
            throw BadInput("tensor " + tensor.name + " has element type " + name_of(tensor.dtype) +
                           "; expected F32, F16 or BF16");
    }
    if (require_finite) {  // DECO-5
        for (const float value : values) {
            if (!std::isfinite(value)) {
                throw BadInput("tensor " + tensor.name + " contains a NaN or an infinity");
            }
        }
    }
    return values;
}

}  // namespace slip::importing
