#include "llama.hpp"

#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace training {

using torch::Tensor;

namespace {

/// Tensors of a .safetensors file as float32: an 8-byte little-endian header length, a JSON header,
/// then raw data.
std::map<std::string, Tensor> load_safetensors(const std::string& path) try {
    const std::string bytes = read_file(path);
    uint64_t header_size = 0;
    if (bytes.size() < sizeof header_size)
        throw std::runtime_error(path + ": expected a safetensors header");
    std::memcpy(&header_size, bytes.data(), sizeof header_size);
    if (header_size > bytes.size() - sizeof header_size)
        throw std::runtime_error(path + ": header longer than file");
    const char* data = bytes.data() + sizeof header_size + header_size;
    const size_t data_size = bytes.size() - sizeof header_size - header_size;

    std::map<std::string, Tensor> tensors;
    const auto header = nlohmann::json::parse(bytes.substr(sizeof header_size, header_size));
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const std::string type = entry.at("dtype");
        if (type != "F16" && type != "F32")
            throw std::runtime_error(path + ": " + name + ": expected F16 or F32");
        Tensor tensor = torch::empty(entry.at("shape").get<std::vector<int64_t>>(),
                                     type == "F16" ? torch::kHalf : torch::kFloat);
        const auto offsets = entry.at("data_offsets").get<std::vector<size_t>>();
        if (offsets.size() != 2 || offsets[1] > data_size || offsets[0] > offsets[1] ||
            offsets[1] - offsets[0] != tensor.nbytes()) {
            throw std::runtime_error(path + ": " + name + ": data_offsets do not match the shape");
        }
        std::memcpy(tensor.data_ptr(), data + offsets[0], tensor.nbytes());
        tensors[name] = tensor.to(torch::kFloat);
    }
    return tensors;
} catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": not the expected JSON header: " + error.what());
}

/// The same layout, written as F16.
std::string to_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    nlohmann::ordered_json header;
    header["__metadata__"] = {{"format", "pt"}};
    std::string data;
    for (const auto& [name, tensor] : tensors) {
        const Tensor half = tensor.detach().to(torch::kHalf).contiguous();
        header[name] = {{"dtype", "F16"},
                        {"shape", tensor.sizes().vec()},
                        {"data_offsets", {data.size(), data.size() + half.nbytes()}}};
        data.append(static_cast<const char*>(half.data_ptr()), half.nbytes());
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the format wants the data aligned to 8 bytes
    const uint64_t header_size = text.size();
    return std::string(reinterpret_cast<const char*>(&header_size), sizeof header_size) + text +
           data;
}

/// For queries begin..end-1 (rows) over keys 0..end-1: 0 up to the query's own position, minus
/// infinity after it.
Tensor causal_mask(int64_t begin, int64_t end) {
    return torch::full({end - begin, end}, -std::numeric_limits<float>::infinity()).triu(begin + 1);
}

}  // namespace

std::string LlamaConfig::to_json() const {
    nlohmann::ordered_json json;
    json["architectures"] = {"LlamaForCausalLM"};
    json["model_type"] = "llama";
    json["hidden_size"] = hidden_size;
    json["intermediate_size"] = intermediate_size;
    json["num_hidden_layers"] = num_hidden_layers;
    json["num_attention_heads"] = num_attention_heads;
    json["num_key_value_heads"] = num_key_value_heads;
    json["vocab_size"] = vocab_size;
    json["max_position_embeddings"] = max_position_embeddings;
    json["rms_norm_eps"] = rms_norm_eps;
    json["rope_theta"] = rope_theta;
    json["hidden_act"] = "silu";
    json["attention_bias"] = false;
    json["mlp_bias"] = false;
    json["tie_word_embeddings"] = true;
    json["bos_token_id"] = 1;
    json["eos_token_id"] = 2;
    json["torch_dtype"] = "float16";
    return json.dump(2) + "\n";
}

LlamaConfig LlamaConfig::load(const std::string& path) try {
    const auto json = nlohmann::json::parse(read_file(path));
    if (json.at("model_type") != "llama" || !json.value("tie_word_embeddings", false)) {
        throw std::runtime_error(path +
                                 ": expected model_type llama with tie_word_embeddings true");
    }
    LlamaConfig config;
    config.hidden_size = json.at("hidden_size");
    config.intermediate_size = json.at("intermediate_size");
    config.num_hidden_layers = json.at("num_hidden_layers");
    config.num_attention_heads = json.at("num_attention_heads");
    config.num_key_value_heads = json.at("num_key_value_heads");
    config.vocab_size = json.at("vocab_size");
    config.max_position_embeddings = json.at("max_position_embeddings");
    config.rms_norm_eps = json.at("rms_norm_eps");
    config.rope_theta = json.at("rope_theta");
    if (config.num_key_value_heads < 1 ||
        config.num_attention_heads % config.num_key_value_heads != 0 ||
        config.hidden_size % (2 * config.num_attention_heads) != 0) {
        throw std::runtime_error(
            path + ": expected key/value heads to divide heads, and heads of one even size");
    }
    return config;
} catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path + ": not the expected JSON: " + error.what());
}

Llama::Llama(const LlamaConfig& config) : config_(config) {
    const int64_t hidden = config.hidden_size;
    const int64_t inner = config.intermediate_size;
    const int64_t kv_size = config.num_key_value_heads * config.head_size();
    const double deviation = 0.02;
    // Each layer adds two branches to the residual stream; this keeps its variance independent of
    // depth.
    const double into_residual =
        deviation / std::sqrt(2.0 * static_cast<double>(config.num_hidden_layers));

    embedding_ = add_parameter("model.embed_tokens.weight", {config.vocab_size, hidden}, deviation);
    for (int64_t i = 0; i < config.num_hidden_layers; ++i) {
        const std::string prefix = "model.layers." + std::to_string(i) + ".";
        Layer layer;
        layer.input_norm = add_parameter(prefix + "input_layernorm.weight", {hidden}, 0.0);
        layer.q = add_parameter(prefix + "self_attn.q_proj.weight", {hidden, hidden}, deviation);
        layer.k = add_parameter(prefix + "self_attn.k_proj.weight", {kv_size, hidden}, deviation);
        layer.v = add_parameter(prefix + "self_attn.v_proj.weight", {kv_size, hidden}, deviation);
        layer.o =
            add_parameter(prefix + "self_attn.o_proj.weight", {hidden, hidden}, into_residual);
        layer.post_attention_norm =
            add_parameter(prefix + "post_attention_layernorm.weight", {hidden}, 0.0);
        layer.gate = add_parameter(prefix + "mlp.gate_proj.weight", {inner, hidden}, deviation);
        layer.up = add_parameter(prefix + "mlp.up_proj.weight", {inner, hidden}, deviation);
        layer.down = add_parameter(prefix + "mlp.down_proj.weight", {hidden, inner}, into_residual);
        layers_.push_back(layer);
    }
    final_norm_ = add_parameter("model.norm.weight", {hidden}, 0.0);

    // Hugging Face's layout: element j is paired with element j + size/2, and both turn by angle
    // position * theta_j.
    const int64_t size = config.head_size();
    const Tensor exponent = torch::arange(0, size, 2, torch::kDouble) / static_cast<double>(size);
    const Tensor frequency = torch::pow(config.rope_theta, -exponent);
    const Tensor position = torch::arange(config.max_position_embeddings, torch::kDouble);
    const Tensor angle = torch::outer(position, frequency).repeat({1, 2}).unsqueeze(1);
    cos_ = angle.cos().to(torch::kFloat);
    sin_ = angle.sin().to(torch::kFloat);
}

/// Norm weights (deviation 0) start at one, matrices at random.
Tensor Llama::add_parameter(const std::string& name, torch::IntArrayRef shape, double deviation) {
    Tensor tensor = deviation == 0.0 ? torch::ones(shape) : torch::randn(shape) * deviation;
    tensor.requires_grad_(true);
    parameters_.emplace_back(name, tensor);
    return tensor;
}

Llama Llama::load(const std::string& folder) {
    Llama model(LlamaConfig::load(folder + "/config.json"));
    const std::string path = folder + "/model.safetensors";
    const auto tensors = load_safetensors(path);
    torch::NoGradGuard no_grad;
    for (auto& [name, parameter] : model.parameters_) {
        const auto found = tensors.find(name);
        if (found == tensors.end())
            throw std::runtime_error(path + ": tensor " + name + " is missing");
        if (found->second.sizes() != parameter.sizes()) {
            throw std::runtime_error(path + ": tensor " + name +
                                     " does not have the shape config.json implies");
        }
        parameter.copy_(found->second);
    }
    return model;
}

void Llama::save(const std::string& folder) const {
    write_file_atomically(folder + "/config.json", config_.to_json());
    write_file_atomically(folder + "/model.safetensors", to_safetensors(parameters_));
}

Tensor Llama::linear(const Tensor& x, const Tensor& weight) const {
    return torch::linear(x.to(matmul_type), weight.to(matmul_type));
}

Tensor Llama::norm(const Tensor& x, const Tensor& weight) const {
    return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + config_.rms_norm_eps) * weight;
}

/// RoPE over [batch, length, heads, head size].
Tensor Llama::rotate(const Tensor& x) const {
    const int64_t length = x.size(1);
    const auto halves = x.chunk(2, -1);
    const Tensor turned = torch::cat({-halves[1], halves[0]}, -1);
    return x * cos_.slice(0, 0, length) + turned * sin_.slice(0, 0, length);
}

Tensor Llama::attention(const Tensor& x, const Layer& layer) const {
    const int64_t batch = x.size(0), length = x.size(1), size = config_.head_size();
    const int64_t kv_heads = config_.num_key_value_heads;
    const int64_t group =
        config_.num_attention_heads / kv_heads;  // query heads sharing one key/value head

    const auto heads = [&](const Tensor& weight, int64_t count) {
        return linear(x, weight).view({batch, length, count, size});
    };
    const auto by_head = [&](const Tensor& t) {
        return t.to(matmul_type).transpose(1, 2).flatten(0, 1);
    };
    // Query head h reads key/value head h / group, so a group's queries can share one matrix
    // product.
    const Tensor q =
        (rotate(heads(layer.q, kv_heads * group)) / std::sqrt(static_cast<double>(size)))
            .to(matmul_type)
            .view({batch, length, kv_heads, group, size})
            .permute({0, 2, 1, 3, 4})
            .reshape({batch * kv_heads, length * group, size});
    const Tensor k = by_head(rotate(heads(layer.k, kv_heads)));
    const Tensor v = by_head(heads(layer.v, kv_heads));

    // Queries go in blocks, each against the keys up to its own end: this skips most products the
    // mask would discard.
    const int64_t block = 128;
    std::vector<Tensor> mixed;
    for (int64_t begin = 0; begin < length; begin += block) {
        const int64_t end = std::min(begin + block, length);
        const Tensor scores =
            torch::bmm(q.slice(1, begin * group, end * group), k.slice(1, 0, end).transpose(1, 2));
        const Tensor mask = causal_mask(begin, end).to(matmul_type).repeat_interleave(group, 0);
        mixed.push_back(torch::bmm(torch::softmax(scores + mask, -1), v.slice(1, 0, end)));
    }
    return linear(torch::cat(mixed, 1)
                      .view({batch, kv_heads, length, group, size})
                      .transpose(1, 2)
                      .reshape({batch, length, config_.hidden_size}),
                  layer.o);
}

Tensor Llama::forward(const Tensor& ids, double dropout) const {
    if (ids.size(1) > config_.max_position_embeddings) {
        throw std::runtime_error("llama: " + std::to_string(ids.size(1)) +
                                 " tokens, but max_position_embeddings is " +
                                 std::to_string(config_.max_position_embeddings));
    }
    const auto drop = [&](const Tensor& t) {
        return dropout > 0.0 ? torch::dropout(t, dropout, true) : t;
    };

    Tensor x = drop(torch::embedding(embedding_, ids));
    for (const Layer& layer : layers_) {
        x = x + drop(attention(norm(x, layer.input_norm), layer));
        const Tensor y = norm(x, layer.post_attention_norm).to(matmul_type);
        // SiLU in float32: libtorch's bfloat16 kernel is several times slower.
        const Tensor gate = torch::silu(linear(y, layer.gate).to(torch::kFloat)).to(matmul_type);
        x = x + drop(linear(gate * linear(y, layer.up), layer.down));
    }
    return linear(norm(x, final_norm_), embedding_).to(torch::kFloat);
}

}  // namespace training
