// The GGUF format, versions 2 and 3: metadata, a table of tensors, and their bytes (MODEL-19). Read
// memory-mapped, checked completely before anything is used.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slip::importing {

/// The element types that are read.
enum class GgufType { f32, f16, bf16, q8_0 };

/// One tensor of a file. The bytes are a view of the file's.
struct GgufTensor {
    GgufType type = GgufType::f32;
    std::vector<std::size_t> shape;  // rows first, as safetensors has it
    std::span<const std::byte> bytes;

    std::size_t elements() const;
};

struct GgufHeader {
    /// An object from keys to numbers, truth values, texts (all UTF-8) and arrays of these.
    nlohmann::json metadata;
    std::map<std::string, GgufTensor, std::less<>> tensors;
};

/// Throws BadInput, naming `origin` and the key or tensor, for a file that is malformed, too short,
/// has tensors that overlap, or an element type that is not read; a coarse grid is named as such
/// (DECO-13).
GgufHeader parse_gguf(std::span<const std::byte> file, const std::filesystem::path& origin);

/// The values of a Q8_0 tensor: exact, because 11 bits of scale times 8 bits fit into binary32.
std::vector<float> q8_0_values(const GgufTensor& tensor);

}  // namespace slip::importing
