#include "model.hpp"

#include "families.hpp"
#include "text.hpp"

#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace training {

using torch::Tensor;

namespace {

constexpr double kDeviation = 0.02;

/// For queries begin..end-1 (rows) over keys 0..end-1: 0 up to the query's own position, minus
/// infinity after it.
Tensor causal_mask(int64_t begin, int64_t end) {
    return torch::full({end - begin, end}, -std::numeric_limits<float>::infinity()).triu(begin + 1);
}

}  // namespace

std::unique_ptr<Model> Model::create(const ModelConfig& config) {
    switch (config.family) {
        case Family::llama:
            return std::make_unique<Llama>(config);
        case Family::gpt2:
            return std::make_unique<Gpt2>(config);
        case Family::phi:
            return std::make_unique<Phi>(config);
    }
    throw std::invalid_argument("no such family");
}

std::unique_ptr<Model> Model::load(const std::string& folder) {
    auto model = create(ModelConfig::load(folder + "/config.json"));
    const std::string path = folder + "/model.safetensors";
    const auto tensors = load_safetensors(path);
    torch::NoGradGuard no_grad;
    for (auto& [name, parameter] : model->parameters_) {
        const auto found = tensors.find(name);
        if (found == tensors.end())
            throw std::runtime_error(path + ": tensor " + name + " is missing");
        const Tensor stored = model->stored_transposed(name) && found->second.dim() == 2
                                  ? found->second.t()
                                  : found->second;
        if (stored.sizes() != parameter.sizes()) {
            throw std::runtime_error(path + ": tensor " + name +
                                     " does not have the shape config.json implies");
        }
        parameter.copy_(stored);
    }
    return model;
}

Model::Model(const ModelConfig& config) : config_(config) {
    if (config.family == Family::gpt2) return;
    // Hugging Face's layout: element j is paired with element j + size/2, and both turn by angle
    // position * theta_j.
    const int64_t size = config.rotary_size();
    const Tensor exponent = torch::arange(0, size, 2, torch::kDouble) / static_cast<double>(size);
    const Tensor frequency = torch::pow(config.rope_theta, -exponent);
    const Tensor position = torch::arange(config.max_position_embeddings, torch::kDouble);
    const Tensor angle = torch::outer(position, frequency).repeat({1, 2}).unsqueeze(1);
    cos_ = angle.cos().to(torch::kFloat);
    sin_ = angle.sin().to(torch::kFloat);
}

void Model::add(const std::string& name, const Tensor& initial) {
    index_[name] = parameters_.size();
    parameters_.emplace_back(name, initial.requires_grad_(true));
}

void Model::add_matrix(const std::string& name, int64_t m, int64_t n, bool into_residual) {
    // Each block adds two branches to the residual stream; this keeps its variance independent of
    // depth.
    const double blocks = static_cast<double>(config_.num_hidden_layers);
    add(name,
        torch::randn({m, n}) * (into_residual ? kDeviation / std::sqrt(2.0 * blocks) : kDeviation));
}

void Model::add_linear(const std::string& module, int64_t m, int64_t n, bool into_residual) {
    add_matrix(module + ".weight", m, n, into_residual);
    add(module + ".bias", torch::zeros({m}));
}

void Model::add_norm(const std::string& module, bool bias) {
    add(module + ".weight", torch::ones({config_.hidden_size}));
    if (bias) add(module + ".bias", torch::zeros({config_.hidden_size}));
}

const Tensor& Model::parameter(const std::string& name) const {
    const auto found = index_.find(name);
    if (found == index_.end()) throw std::runtime_error("the model has no tensor " + name);
    return parameters_[found->second].second;
}

int64_t Model::parameter_count() const {
    int64_t count = 0;
    for (const auto& [name, tensor] : parameters_) count += tensor.numel();
    return count;
}

std::vector<Tensor> Model::tensors() const {
    std::vector<Tensor> tensors;
    for (const auto& [name, tensor] : parameters_) tensors.push_back(tensor);
    return tensors;
}

void Model::replace(const std::string& name, const Tensor& tensor) {
    if (parameter(name).sizes() != tensor.sizes()) {
        throw std::runtime_error("replace: another shape than " + name + " has");
    }
    parameters_[index_.at(name)].second = tensor;
}

void Model::save(const std::string& folder, torch::ScalarType type) const {
    NamedTensors stored = parameters_;
    for (auto& [name, tensor] : stored) {
        if (stored_transposed(name) && tensor.dim() == 2) tensor = tensor.t();
    }
    write_file_atomically(folder + "/config.json", config_.to_json());
    write_file_atomically(folder + "/model.safetensors", to_safetensors(stored, type));
}

Tensor Model::linear(const Tensor& x, const std::string& module) const {
    const Tensor product =
        torch::linear(x.to(matmul_type), parameter(module + ".weight").to(matmul_type));
    const auto bias = index_.find(module + ".bias");
    if (bias == index_.end()) return product;
    return product + parameters_[bias->second].second.to(matmul_type);
}

Tensor Model::rms_norm(const Tensor& x, const std::string& module) const {
    return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + config_.norm_eps) *
           parameter(module + ".weight");
}

Tensor Model::layer_norm(const Tensor& x, const std::string& module) const {
    return torch::layer_norm(x, {config_.hidden_size}, parameter(module + ".weight"),
                             parameter(module + ".bias"), config_.norm_eps);
}

// GELU and SiLU in float32: libtorch's bfloat16 kernels are several times slower.
Tensor Model::gelu(const Tensor& x) const {
    return torch::gelu(x.to(torch::kFloat), "tanh").to(matmul_type);
}

Tensor Model::silu(const Tensor& x) const {
    return torch::silu(x.to(torch::kFloat)).to(matmul_type);
}

/// RoPE over [batch, length, heads, head size]: the first rotary_size() elements of a head turn.
Tensor Model::rotate(const Tensor& x) const {
    if (config_.family == Family::gpt2) return x;
    const int64_t length = x.size(1), size = config_.rotary_size();
    const Tensor turning = x.slice(-1, 0, size);
    const auto halves = turning.chunk(2, -1);
    const Tensor turned = turning * cos_.slice(0, 0, length) +
                          torch::cat({-halves[1], halves[0]}, -1) * sin_.slice(0, 0, length);
    return size == x.size(-1) ? turned : torch::cat({turned, x.slice(-1, size)}, -1);
}

Tensor Model::attention(const Tensor& q, const Tensor& k, const Tensor& v) const {
    const int64_t batch = q.size(0), length = q.size(1), size = config_.head_size();
    const int64_t kv_heads = config_.num_key_value_heads;
    const int64_t group = config_.num_attention_heads / kv_heads;  // query heads per key/value head

    const auto heads = [&](const Tensor& x, int64_t count) {
        return x.reshape({batch, length, count, size});
    };
    const auto by_head = [&](const Tensor& t) {
        return t.to(matmul_type).transpose(1, 2).flatten(0, 1);
    };
    // Query head h reads key/value head h / group, so a group's queries can share one matrix
    // product.
    const Tensor queries =
        (rotate(heads(q, kv_heads * group)) / std::sqrt(static_cast<double>(size)))
            .to(matmul_type)
            .reshape({batch, length, kv_heads, group, size})
            .permute({0, 2, 1, 3, 4})
            .reshape({batch * kv_heads, length * group, size});
    const Tensor keys = by_head(rotate(heads(k, kv_heads)));
    const Tensor values = by_head(heads(v, kv_heads));

    // Queries go in blocks, each against the keys up to its own end: this skips most products the
    // mask would discard.
    const int64_t block = 128;
    std::vector<Tensor> mixed;
    for (int64_t begin = 0; begin < length; begin += block) {
        const int64_t end = std::min(begin + block, length);
        const Tensor scores = torch::bmm(queries.slice(1, begin * group, end * group),
                                         keys.slice(1, 0, end).transpose(1, 2));
        const Tensor mask = causal_mask(begin, end).to(matmul_type).repeat_interleave(group, 0);
        mixed.push_back(torch::bmm(torch::softmax(scores + mask, -1), values.slice(1, 0, end)));
    }
    return torch::cat(mixed, 1)
        .view({batch, kv_heads, length, group, size})
        .transpose(1, 2)
        .reshape({batch, length, config_.hidden_size});
}

Tensor Model::forward(const Tensor& ids, double dropout) const {
    if (ids.size(1) > config_.max_position_embeddings) {
        throw std::runtime_error("model: " + std::to_string(ids.size(1)) +
                                 " tokens, but the context is " +
                                 std::to_string(config_.max_position_embeddings));
    }
    Tensor x = drop(embed(ids), dropout);
    for (int64_t i = 0; i < config_.num_hidden_layers; ++i) x = block(i, x, dropout);
    return linear(last_norm(x), head_module()).to(torch::kFloat);
}

Tensor drop(const Tensor& x, double dropout) {
    return dropout > 0.0 ? torch::dropout(x, dropout, true) : x;
}

}  // namespace training
