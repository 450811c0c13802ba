// Trainable decoders of three families with the exact parameter names, shapes and arithmetic of
// Hugging Face's models: LLaMA (RMSNorm, half-rotation RoPE, grouped-query attention, SwiGLU),
// GPT-2 (LayerNorm, learned positions, one stacked attention matrix, GELU) and Phi-2 (attention and
// MLP side by side behind one LayerNorm, RoPE on a part of each head, GELU).
#pragma once

#include "config.hpp"
#include "safetensors.hpp"

#include <torch/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace training {

class Model {
public:
    /// Random weights: normal with deviation 0.02, the projections into the residual stream scaled
    /// down by depth; norms one, biases zero.
    static std::unique_ptr<Model> create(const ModelConfig& config);
    /// Reads config.json and model.safetensors of a Hugging Face model folder.
    static std::unique_ptr<Model> load(const std::string& folder);
    virtual ~Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// Writes config.json and model.safetensors, replacing each file atomically.
    void save(const std::string& folder, torch::ScalarType type = torch::kHalf) const;

    /// Token ids [batch, length] to float32 logits [batch, length, vocabulary]; dropout 0 outside
    /// training.
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& ids, double dropout = 0.0) const;

    [[nodiscard]] const ModelConfig& config() const { return config_; }
    /// Every parameter under its Hugging Face name, in file order. Matrices are m x n, outputs
    /// first, also where the family's files hold them n x m (GPT-2).
    [[nodiscard]] const NamedTensors& parameters() const { return parameters_; }
    [[nodiscard]] const torch::Tensor& parameter(const std::string& name) const;
    [[nodiscard]] int64_t parameter_count() const;
    /// The same without names.
    [[nodiscard]] std::vector<torch::Tensor> tensors() const;
    /// The next forward() uses `tensor`, which may depend on whatever is trained. Same shape.
    void replace(const std::string& name, const torch::Tensor& tensor);

    /// Data type of the matrix products in forward(); everything else is float32. bfloat16 trains
    /// several times faster on processors with AVX512-BF16.
    torch::ScalarType matmul_type = torch::kFloat;

protected:
    explicit Model(const ModelConfig& config);

    // For the constructors of the families: parameters in file order.
    void add_matrix(const std::string& name, int64_t m, int64_t n, bool into_residual = false);
    void add_linear(const std::string& module, int64_t m, int64_t n, bool into_residual = false);
    void add_norm(const std::string& module, bool bias);

    // For the families' forward passes. x is [batch, length, width]; a module is a name without
    // ".weight".
    /// x W^T, and the bias if the module has one.
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& module) const;
    [[nodiscard]] torch::Tensor rms_norm(const torch::Tensor& x, const std::string& module) const;
    [[nodiscard]] torch::Tensor layer_norm(const torch::Tensor& x, const std::string& module) const;
    /// Causal attention of q [batch, length, heads * size] over k and v [batch, length, key/value
    /// heads * size], RoPE included where the family has it.
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k,
                                          const torch::Tensor& v) const;
    /// GELU in its tanh form.
    [[nodiscard]] torch::Tensor gelu(const torch::Tensor& x) const;
    [[nodiscard]] torch::Tensor silu(const torch::Tensor& x) const;

private:
    [[nodiscard]] virtual torch::Tensor embed(const torch::Tensor& ids) const = 0;
    /// The residual stream after block `index`; dropout on what its branches add.
    [[nodiscard]] virtual torch::Tensor block(int64_t index, const torch::Tensor& x,
                                              double dropout) const = 0;
    /// The stream behind the last norm.
    [[nodiscard]] virtual torch::Tensor last_norm(const torch::Tensor& x) const = 0;
    /// The module that the head's matrix is in.
    [[nodiscard]] virtual std::string head_module() const = 0;
    /// Whether the family's files hold this matrix inputs first.
    [[nodiscard]] virtual bool stored_transposed(const std::string&) const { return false; }

    void add(const std::string& name, const torch::Tensor& initial);
    [[nodiscard]] torch::Tensor rotate(const torch::Tensor& x) const;

    ModelConfig config_;
    NamedTensors parameters_;
    std::map<std::string, size_t> index_;  // of a name in parameters_
    torch::Tensor cos_, sin_;              // [max_position_embeddings, 1, rotary size]
};

}  // namespace training
