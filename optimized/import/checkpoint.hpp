// A Hugging Face checkpoint directory: config.json, model.safetensors, tokenizer files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip {

/// Parses the text of a config.json. Throws BadInput, naming `origin`, the field and what was
/// expected, for a missing or impossible value and for what a family has but this build does not
/// (another model_type or activation function, scaled positions).
ModelConfig parse_config(std::string_view json, const std::filesystem::path& origin);

/// The configuration and the tensors of a model. Tensors are named as in Hugging Face's newest
/// releases, whatever prefix the file has.
class Checkpoint {
public:
    /// Throws BadInput, naming the file.
    explicit Checkpoint(const std::filesystem::path& directory);

    const ModelConfig& config() const { return config_; }
    const std::string& config_text() const { return config_text_; }
    /// By name, as stored: the tensors point into the mapped files.
    const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
    /// Throws BadInput, naming the checkpoint and the tensor, unless the tensor is a matrix of m
    /// outputs and n inputs.
    void require_matrix(std::string_view name, std::size_t m, std::size_t n) const;
    /// The tensor's values, finite, row-major; a matrix as m x n. Throws BadInput, naming the
    /// checkpoint and the tensor, if it is absent, not of so many elements or not finite (DECO-5).
    std::vector<float> floats(std::string_view name, std::size_t elements) const;
    const std::filesystem::path& directory() const { return directory_; }
    /// The SentencePiece model, or an empty path if the directory has none (token ids only).
    std::filesystem::path tokenizer() const;

private:
    const Tensor& tensor(std::string_view name) const;

    std::filesystem::path directory_;
    std::string config_text_;
    ModelConfig config_;
    SafetensorsFile weights_;
    std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace slip
