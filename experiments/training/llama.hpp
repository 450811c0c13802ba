// A trainable LLaMA-family decoder with the exact parameter names, shapes and arithmetic of Hugging
// Face's LlamaForCausalLM (RMSNorm, half-rotation RoPE, grouped-query attention, SwiGLU, tied head,
// no biases).
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

namespace training {

struct LlamaConfig {
    int64_t hidden_size = 192;
    int64_t intermediate_size = 512;
    int64_t num_hidden_layers = 6;
    int64_t num_attention_heads = 6;
    int64_t num_key_value_heads = 3;
    int64_t vocab_size = 2048;
    int64_t max_position_embeddings = 512;
    double rms_norm_eps = 1e-5;
    double rope_theta = 10000.0;

    [[nodiscard]] int64_t head_size() const { return hidden_size / num_attention_heads; }
    [[nodiscard]] std::string to_json() const;
    /// Reads a Hugging Face config.json.
    static LlamaConfig load(const std::string& config_json_path);
};

class Llama {
public:
    /// Random weights: normal with deviation 0.02, the two projections into the residual stream
    /// scaled down by depth.
    explicit Llama(const LlamaConfig& config);

    /// Reads config.json and model.safetensors of a Hugging Face model folder.
    static Llama load(const std::string& folder);

    /// Writes config.json and model.safetensors (F16), replacing each file atomically.
    void save(const std::string& folder) const;

    /// Token ids [batch, length] to float32 logits [batch, length, vocabulary]; dropout 0 outside
    /// training.
    [[nodiscard]] torch::Tensor forward(const torch::Tensor& ids, double dropout = 0.0) const;

    [[nodiscard]] const LlamaConfig& config() const { return config_; }
    /// Every trained tensor under its Hugging Face name, in file order.
    [[nodiscard]] const std::vector<std::pair<std::string, torch::Tensor>>& parameters() const {
        return parameters_;
    }

    /// Data type of the matrix products in forward(); everything else is float32. bfloat16 trains
    /// several times faster on processors with AVX512-BF16.
    torch::ScalarType matmul_type = torch::kFloat;

private:
    struct Layer {
        torch::Tensor input_norm, q, k, v, o, post_attention_norm, gate, up, down;
    };

    torch::Tensor add_parameter(const std::string& name, torch::IntArrayRef shape,
                                double deviation);
    [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight) const;
    [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const torch::Tensor& weight) const;
    [[nodiscard]] torch::Tensor rotate(const torch::Tensor& x) const;
    [[nodiscard]] torch::Tensor attention(const torch::Tensor& x, const Layer& layer) const;

    LlamaConfig config_;
    std::vector<std::pair<std::string, torch::Tensor>> parameters_;
    torch::Tensor embedding_, final_norm_;
    std::vector<Layer> layers_;
    torch::Tensor cos_, sin_;  // [max_position_embeddings, 1, head size]
};

}  // namespace training
