// MODEL-19: a GGUF file as a checkpoint.
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/gguf_architectures.hpp"
#include "optimized/import/gguf_model.hpp"

namespace slip::importing {
namespace {

DType dtype_of(GgufType type) {
    return type == GgufType::f16 ? DType::f16 : type == GgufType::bf16 ? DType::bf16 : DType::f32;
}

/// Gemma's norms, as Hugging Face has them: exact from 1/2 on.
std::vector<float> without_one(const Tensor& norm) {
    std::vector<float> values = to_floats(norm, false);
    for (float& value : values) value -= 1.0F;
    return values;
}

}  // namespace

void Checkpoint::open_gguf() {
    gguf_ = base::MappedFile(folder_);
    const GgufHeader header = parse_gguf(gguf_.bytes(), folder_);
    const GgufArchitecture& architecture = gguf_architecture(header, folder_);
    config_text_ = gguf_config(header, folder_);
    config_ = parse_config(config_text_, folder_);
    outputs_first_ = true;
    for (const auto& [stored_name, stored] : header.tensors) {
        const auto name = gguf_tensor_name(architecture, stored_name, folder_);
        if (!name) continue;
        Tensor tensor{*name, dtype_of(stored.type), stored.shape, stored.bytes};
        const auto replace_values = [&](std::vector<float> values) {
            std::vector<float>& kept = parameters_[*name];
            kept = std::move(values);
            tensor.dtype = DType::f32;
            tensor.bytes = std::as_bytes(std::span<const float>(kept));
        };
        if (stored.type == GgufType::q8_0) {
            quantised_tensor_ = stored_name;
            replace_values(q8_0_values(stored));
        }
        if (architecture.norms_plus_one && name->ends_with("norm.weight")) {
            replace_values(without_one(tensor));
        }
        if (architecture.heads_in_pairs) note_heads_in_pairs(tensor, stored_name);
        if (!tensors_.emplace(*name, std::move(tensor)).second) {
            throw BadInput(folder_.string() + ": two tensors mean " + *name);
        }
    }
}

/// Notes a query or key matrix, whose rows are put into Hugging Face's order when they are read.
void Checkpoint::note_heads_in_pairs(const Tensor& tensor, const std::string& stored_name) {
    const bool query = tensor.name.ends_with(".q_proj.weight");
    if (!query && !tensor.name.ends_with(".k_proj.weight")) return;
    if (tensor.shape.size() != 2) {
        throw BadInput(folder_.string() + ": tensor " + stored_name + ": expected a matrix");
    }
    interleaved_heads_.emplace(tensor.name,
                               query ? config_.num_attention_heads : config_.num_key_value_heads);
}

}  // namespace slip::importing
