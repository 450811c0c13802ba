// What the readers of both halves have in common (MODEL-7). What is not exactly what
// split_checkpoint writes is refused: each function throws BadInput, which names the file and the
// field or tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "optimized/artifact/sha256.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip::artifact::reading {

/// Throws BadInput.
[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what);

/// The fields that both descriptions begin with. The version comes first: a file of another version
/// may differ in everything else (PARAM-4).
const base::parameters::ParameterSet* header(importing::JsonObject& object, const char* format,
                                             const std::filesystem::path& path);

/// 32 bytes in hexadecimal.
Sha256 digest_field(importing::JsonObject& object, const std::string& name);

/// CNN-6: the convolution whose kernel matrix a group of rows x cols is, if it has one.
std::optional<base::Convolution> convolution(importing::JsonObject& group, std::size_t rows,
                                             std::size_t cols);

/// A tensor's elements in place, after its type, shape and alignment have been checked.
template <class T>
const T* elements_of(const importing::SafetensorsFile& file, const std::string& name,
                     importing::DType dtype, const std::vector<std::size_t>& shape) {
    const importing::Tensor& tensor = file.tensor(name);
    if (tensor.dtype != dtype || tensor.shape != shape) {
        fail(file.path(), "tensor " + name + " does not have the type and shape that " +
                              "the description beside it implies");
    }
    if (reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % alignof(T) != 0) {
        fail(file.path(), "tensor " + name + " is not aligned to its type");
    }
    return reinterpret_cast<const T*>(tensor.bytes.data());
}

}  // namespace slip::artifact::reading
