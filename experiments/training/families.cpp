#include "families.hpp"

namespace training {

using torch::Tensor;

namespace {

std::string layer_prefix(int64_t index) { return "model.layers." + std::to_string(index) + "."; }
std::string gpt2_prefix(int64_t index) { return "transformer.h." + std::to_string(index) + "."; }

}  // namespace

Llama::Llama(const ModelConfig& config) : Model(config) {
    const int64_t hidden = config.hidden_size, inner = config.intermediate_size;
    const int64_t kv_size = config.num_key_value_heads * config.head_size();
    add_matrix("model.embed_tokens.weight", config.vocab_size, hidden);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
        const std::string prefix = layer_prefix(i);
        add_norm(prefix + "input_layernorm", false);
        add_matrix(prefix + "self_attn.q_proj.weight", hidden, hidden);
        add_matrix(prefix + "self_attn.k_proj.weight", kv_size, hidden);
        add_matrix(prefix + "self_attn.v_proj.weight", kv_size, hidden);
        add_matrix(prefix + "self_attn.o_proj.weight", hidden, hidden, true);
        add_norm(prefix + "post_attention_layernorm", false);
        add_matrix(prefix + "mlp.gate_proj.weight", inner, hidden);
        add_matrix(prefix + "mlp.up_proj.weight", inner, hidden);
        add_matrix(prefix + "mlp.down_proj.weight", hidden, inner, true);
    }
    add_norm("model.norm", false);
    if (!config.tie_word_embeddings) add_matrix("lm_head.weight", config.vocab_size, hidden);
}

Tensor Llama::embed(const Tensor& ids) const {
    return torch::embedding(parameter("model.embed_tokens.weight"), ids);
}

Tensor Llama::block(int64_t index, const Tensor& x, double dropout) const {
    const std::string prefix = layer_prefix(index);
    const Tensor normed = rms_norm(x, prefix + "input_layernorm");
    const Tensor mixed = attention(linear(normed, prefix + "self_attn.q_proj"),
                                   linear(normed, prefix + "self_attn.k_proj"),
                                   linear(normed, prefix + "self_attn.v_proj"));
    const Tensor y = x + drop(linear(mixed, prefix + "self_attn.o_proj"), dropout);
    const Tensor inner = rms_norm(y, prefix + "post_attention_layernorm");
    const Tensor gate = silu(linear(inner, prefix + "mlp.gate_proj"));
    return y + drop(linear(gate * linear(inner, prefix + "mlp.up_proj"), prefix + "mlp.down_proj"),
                    dropout);
}

Tensor Llama::last_norm(const Tensor& x) const { return rms_norm(x, "model.norm"); }

std::string Llama::head_module() const {
    return config().tie_word_embeddings ? "model.embed_tokens" : "lm_head";
}

Gpt2::Gpt2(const ModelConfig& config) : Model(config) {
    const int64_t hidden = config.hidden_size, inner = config.intermediate_size;
    add_matrix("transformer.wte.weight", config.vocab_size, hidden);
    add_matrix("transformer.wpe.weight", config.max_position_embeddings, hidden);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
        const std::string prefix = gpt2_prefix(i);
        add_norm(prefix + "ln_1", true);
        add_linear(prefix + "attn.c_attn", 3 * hidden, hidden);
        add_linear(prefix + "attn.c_proj", hidden, hidden, true);
        add_norm(prefix + "ln_2", true);
        add_linear(prefix + "mlp.c_fc", inner, hidden);
        add_linear(prefix + "mlp.c_proj", hidden, inner, true);
    }
    add_norm("transformer.ln_f", true);
    if (!config.tie_word_embeddings) add_matrix("lm_head.weight", config.vocab_size, hidden);
}

bool Gpt2::stored_transposed(const std::string& name) const {
    return name.find(".attn.c_") != std::string::npos || name.find(".mlp.c_") != std::string::npos;
}

Tensor Gpt2::embed(const Tensor& ids) const {
    return torch::embedding(parameter("transformer.wte.weight"), ids) +
           parameter("transformer.wpe.weight").slice(0, 0, ids.size(1));
}

Tensor Gpt2::block(int64_t index, const Tensor& x, double dropout) const {
    const std::string prefix = gpt2_prefix(index);
    const auto stacked =
        linear(layer_norm(x, prefix + "ln_1"), prefix + "attn.c_attn").chunk(3, -1);
    const Tensor mixed = attention(stacked[0], stacked[1], stacked[2]);
    const Tensor y = x + drop(linear(mixed, prefix + "attn.c_proj"), dropout);
    const Tensor inner = gelu(linear(layer_norm(y, prefix + "ln_2"), prefix + "mlp.c_fc"));
    return y + drop(linear(inner, prefix + "mlp.c_proj"), dropout);
}

Tensor Gpt2::last_norm(const Tensor& x) const { return layer_norm(x, "transformer.ln_f"); }

std::string Gpt2::head_module() const {
    return config().tie_word_embeddings ? "transformer.wte" : "lm_head";
}

Phi::Phi(const ModelConfig& config) : Model(config) {
    const int64_t hidden = config.hidden_size, inner = config.intermediate_size;
    const int64_t kv_size = config.num_key_value_heads * config.head_size();
    add_matrix("model.embed_tokens.weight", config.vocab_size, hidden);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
        const std::string prefix = layer_prefix(i);
        add_norm(prefix + "input_layernorm", true);
        add_linear(prefix + "self_attn.q_proj", hidden, hidden);
        add_linear(prefix + "self_attn.k_proj", kv_size, hidden);
        add_linear(prefix + "self_attn.v_proj", kv_size, hidden);
        add_linear(prefix + "self_attn.dense", hidden, hidden, true);
        add_linear(prefix + "mlp.fc1", inner, hidden);
        add_linear(prefix + "mlp.fc2", hidden, inner, true);
    }
    add_norm("model.final_layernorm", true);
    if (config.tie_word_embeddings) {
        throw std::runtime_error("config.json: tie_word_embeddings must be false for Phi-2");
    }
    add_linear("lm_head", config.vocab_size, hidden);
}

Tensor Phi::embed(const Tensor& ids) const {
    return torch::embedding(parameter("model.embed_tokens.weight"), ids);
}

Tensor Phi::block(int64_t index, const Tensor& x, double dropout) const {
    const std::string prefix = layer_prefix(index);
    const Tensor normed = layer_norm(x, prefix + "input_layernorm");
    const Tensor mixed = attention(linear(normed, prefix + "self_attn.q_proj"),
                                   linear(normed, prefix + "self_attn.k_proj"),
                                   linear(normed, prefix + "self_attn.v_proj"));
    const Tensor inner = gelu(linear(normed, prefix + "mlp.fc1"));
    return x + drop(linear(mixed, prefix + "self_attn.dense"), dropout) +
           drop(linear(inner, prefix + "mlp.fc2"), dropout);
}

Tensor Phi::last_norm(const Tensor& x) const { return layer_norm(x, "model.final_layernorm"); }

std::string Phi::head_module() const { return "lm_head"; }

}  // namespace training
