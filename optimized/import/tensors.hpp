// Named tensors in a file, whatever the file: what a checkpoint and an artifact have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slip::importing {

/// Element types of the safetensors format that this project reads and writes.
enum class DType { f32, f16, bf16, i8, i16, i32, u8 };
std::size_t size_of(DType dtype);
/// The format's name, e.g. "F32".
const char* name_of(DType dtype);

/// One tensor inside a mapped file. `bytes` may be unaligned.
struct Tensor {
    std::string name;
    DType dtype = DType::f32;
    std::vector<std::size_t> shape;
    std::span<const std::byte> bytes;

    std::size_t elements() const;
    /// Row `row` of a matrix. Throws InternalError if it has none.
    Tensor row(std::size_t row) const;
};

/// The tensor's values as float32 (exact for F32, F16 and BF16). Throws BadInput, naming the
/// tensor, for another dtype or, if `require_finite`, for a NaN or infinity (DECO-5).
std::vector<float> to_floats(const Tensor& tensor, bool require_finite = true);

}  // namespace slip::importing
