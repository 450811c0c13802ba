// A Hugging Face checkpoint folder: config.json and model.safetensors, or its shards; or a GGUF
// or ONNX file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/cnn_config.hpp"
#include "optimized/base/model_shape.hpp"
#include "optimized/import/config.hpp"
#include "optimized/import/safetensors.hpp"

namespace slip::importing {

/// The configuration and the tensors of a model (MODEL-10). The tensors have the names of Hugging
/// Face's models with a head, whether or not the files leave the family's prefix out ("model." or
/// "transformer."). Tables that are computed and not learned, as causal masks, are left out. An
/// ONNX file is a checkpoint too, with the matrices of read_onnx() as NAME.weight (CNN-7).
class Checkpoint {
public:
    /// Reads the ONNX file, the GGUF file (MODEL-19) or the folder `path`.
    /// Maps the weights of model.safetensors or, if there is none, of the shards that
    /// model.safetensors.index.json lists. Throws BadInput, naming the file and the tensor, unless
    /// every shard is a file of this folder that holds exactly the tensors the index places in
    /// it.
    explicit Checkpoint(const std::filesystem::path& path, Attention attention = Attention::fused);

    /// The convolutional network that an ONNX file holds; null for a language model.
    const base::CnnConfig* network() const { return network_ ? &*network_ : nullptr; }
    /// A language model's. Throws BadInput, naming the file, for a convolutional network.
    const base::ModelConfig& config() const;
    /// Makes GPT-2's c_attn three matrices (MODEL-8). Throws BadInput for another model.
    void separate_query_key_value();
    const std::string& config_text() const { return config_text_; }
    const std::filesystem::path& folder() const { return folder_; }
    /// By name, as stored: the tensors point into the mapped files.
    const std::map<std::string, Tensor, std::less<>>& tensors() const { return tensors_; }
    /// Throws BadInput, naming the checkpoint and the tensor, unless the tensor is a matrix of m
    /// outputs and n inputs.
    void require_matrix(std::string_view name, std::size_t m, std::size_t n) const;
    /// The same for the tensor of an offloaded matrix of n inputs, and the matrix's own rows of it.
    void require_matrix(const base::MemberShape& member, std::size_t n) const;
    std::vector<float> matrix(const base::MemberShape& member, std::size_t n) const;
    /// The tensor's values, finite, row-major; a matrix as m x n, also where the family stores it
    /// n x m (GPT-2). Throws BadInput, naming the checkpoint and the tensor, if it is absent, has
    /// another number of elements or is not finite (DECO-5).
    std::vector<float> floats(std::string_view name, std::size_t elements) const;
    /// Whether the family's files hold this matrix inputs first, n x m (GPT-2).
    bool stored_transposed(std::string_view name) const;
    /// The name of a tensor whose weights lie on a grid of 8 bits (GGUF's Q8_0); empty if none
    /// does.
    const std::string& quantised_tensor() const { return quantised_tensor_; }
    /// Gives the pages of the mapped files back to the kernel (MappedFile::forget_pages).
    void forget_pages() const {
        for (const SafetensorsFile& file : files_) file.forget_pages();
        gguf_.forget_pages();
    }

private:
    void add_tensors_of(const SafetensorsFile& file);
    void open_folder();
    void open_shards();
    void open_onnx();
    void open_gguf();
    void note_heads_in_pairs(const Tensor& tensor, const std::string& stored_name);
    bool holds_transposed(std::string_view name) const;
    const Tensor& tensor(std::string_view name) const;

    std::filesystem::path folder_;
    std::string config_text_;
    base::ModelConfig config_;
    std::optional<base::CnnConfig> network_;
    std::vector<SafetensorsFile> files_;
    base::MappedFile gguf_;
    bool outputs_first_ = false;  // every matrix of the file, also where the family transposes
    /// All parameters of an ONNX file; of a GGUF file those in Q8_0, and the norms that are 1 more.
    std::map<std::string, std::vector<float>> parameters_;
    /// Heads of the matrices whose rows a GGUF file holds in pairs, by name.
    std::map<std::string, std::size_t, std::less<>> interleaved_heads_;
    std::string quantised_tensor_;
    std::map<std::string, Tensor, std::less<>> tensors_;
};

/// The names of the tensors in each shard, by the name of its file.
using ShardIndex = std::map<std::string, std::set<std::string>>;

/// Parses a model.safetensors.index.json. Throws BadInput, naming `origin` and the tensor, unless
/// it places at least one tensor, and each in a file whose name has no folder in it.
ShardIndex parse_shard_index(std::string_view text, const std::filesystem::path& origin);

}  // namespace slip::importing
