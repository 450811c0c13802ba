// MODEL-19: a GGUF file as a checkpoint.
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/gguf_model.hpp"

namespace slip::importing {
namespace {

DType dtype_of(GgufType type) {
    return type == GgufType::f16 ? DType::f16 : type == GgufType::bf16 ? DType::bf16 : DType::f32;
}

}  // namespace

void Checkpoint::open_gguf() {
    gguf_ = base::MappedFile(directory_);
    const GgufHeader header = parse_gguf(gguf_.bytes(), directory_);
    config_text_ = gguf_config(header, directory_);
    config_ = parse_config(config_text_, directory_);
    for (const auto& [stored_name, stored] : header.tensors) {
        if (stored_name == gguf_frequencies) continue;
        const std::string name = gguf_tensor_name(stored_name, directory_);
        Tensor tensor{name, dtype_of(stored.type), stored.shape, stored.bytes};
        if (stored.type == GgufType::q8_0) {
            quantised_tensor_ = stored_name;
            const std::vector<float>& values =
                parameters_.emplace(name, q8_0_values(stored)).first->second;
            tensor.bytes = std::as_bytes(std::span<const float>(values));
        }
        const bool query = name.ends_with(".q_proj.weight");
        if (gguf_interleaves_heads(header) && (query || name.ends_with(".k_proj.weight"))) {
            const std::size_t heads =
                query ? config_.num_attention_heads : config_.num_key_value_heads;
            if (tensor.shape.size() != 2) {
                throw BadInput(directory_.string() + ": tensor " + stored_name +
                               ": expected a matrix");
            }
            interleaved_heads_.emplace(name, heads);
        }
        if (!tensors_.emplace(name, std::move(tensor)).second) {
            throw BadInput(directory_.string() + ": two tensors mean " + name);
        }
    }
}

}  // namespace slip::importing
