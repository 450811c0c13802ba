// How results describe a model: its name, its family and its size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"

namespace slip::measure {

/// "llama", "gpt2" or "phi".
inline const char* name_of(base::Family family) {
    switch (family) {
        case base::Family::llama:
            return "llama";
        case base::Family::gpt2:
            return "gpt2";
        case base::Family::phi:
            return "phi";
    }
    throw InternalError("name_of: unknown family");
}

/// {"name", "family", "parameters"}: the name of its folder, or of an ONNX file without the ending;
/// and the numbers in all of its tensors. The weights are not read.
inline nlohmann::ordered_json label_of(const importing::Checkpoint& checkpoint) {
    std::filesystem::path path = std::filesystem::absolute(checkpoint.folder()).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const bool convolutional = checkpoint.network() != nullptr;
    std::uint64_t parameters = 0;
    for (const auto& [name, tensor] : checkpoint.tensors()) parameters += tensor.elements();
    return {{"name", (convolutional ? path.stem() : path.filename()).string()},
            {"family", convolutional ? "cnn" : name_of(checkpoint.config().family)},
            {"parameters", parameters}};
}

}  // namespace slip::measure
