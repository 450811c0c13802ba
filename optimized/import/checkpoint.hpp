// A Hugging Face checkpoint directory: config.json, model.safetensors, tokenizer files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip {

/// Parses the text of a config.json of the LLaMA-2 family. Throws BadInput, naming `origin`, the
/// field and what was expected, for a missing or impossible value and for what the family has but
/// this build does not (rope_scaling, attention_bias, another model_type or hidden_act).
LlamaConfig parse_llama_config(std::string_view json, const std::filesystem::path& origin);

class Checkpoint {
public:
    /// Throws BadInput, naming the file.
    explicit Checkpoint(const std::filesystem::path& directory);

    const LlamaConfig& config() const { return config_; }
    const std::string& config_text() const { return config_text_; }
    const SafetensorsFile& weights() const { return weights_; }
    const std::filesystem::path& directory() const { return directory_; }
    /// The SentencePiece model, or an empty path if the directory has none (token ids only).
    std::filesystem::path tokenizer() const;

private:
    std::filesystem::path directory_;
    std::string config_text_;
    LlamaConfig config_;
    SafetensorsFile weights_;
};

}  // namespace slip
