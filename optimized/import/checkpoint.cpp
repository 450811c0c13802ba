// MODEL-10: what stands in a checkpoint folder, and under which names.
#include "optimized/import/checkpoint.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/cnn_json.hpp"
#include "optimized/import/gguf_model.hpp"
#include "optimized/import/json.hpp"
#include "optimized/import/onnx.hpp"

namespace slip::importing {
namespace {

using base::Family;
using nlohmann::json;

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> ends) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view end) { return name.ends_with(end); });
}

/// Tables that older files hold although models compute them: causal masks and RoPE's frequencies.
bool is_computed_table(std::string_view name) {
    return ends_with_one_of(name, {".attn.bias", ".attn.masked_bias", ".rotary_emb.inv_freq"});
}

/// Files of a model without a head leave the prefix out that its tensors have in one with a head.
std::string full_name(Family family, const std::string& name) {
    const std::string prefix = family == Family::gpt2 ? "transformer." : "model.";
    static const std::set<std::string> modules{"wte",          "wpe",    "h",    "ln_f",
                                               "embed_tokens", "layers", "norm", "final_layernorm"};
    return modules.count(name.substr(0, name.find('.'))) != 0 ? prefix + name : name;
}

/// A shard must be a plain name: an index cannot make us open files of other folders.
bool is_plain_file_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
           name.find('\0') == std::string::npos;
}

/// Row-major n x m as row-major m x n.
std::vector<float> transposed(const std::vector<float>& values, std::size_t n, std::size_t m) {
    std::vector<float> turned(values.size());
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = 0; i < m; ++i) turned[i * n + j] = values[j * m + i];
    }
    return turned;
}

}  // namespace

Checkpoint::Checkpoint(const std::filesystem::path& path, Attention attention) : folder_(path) {
    if (path.extension() == ".onnx") {
        open_onnx();
    } else if (path.extension() == ".gguf") {
        open_gguf();
        config_.attention = attention;
    } else {
        open_folder();
        config_.attention = attention;
    }
}

const base::ModelConfig& Checkpoint::config() const {
    if (!network_) return config_;
    throw BadInput(folder_.string() + ": is a convolutional network, not a language model");
}

void Checkpoint::separate_query_key_value() {
    if (network_ || config_.family != Family::gpt2) {
        throw BadInput(folder_.string() +
                       ": has no c_attn, so a plan cannot name c_attn.q, c_attn.k or c_attn.v");
    }
    config_.separate_query_key_value = true;
}

void Checkpoint::open_folder() {
    config_text_ = base::read_file(folder_ / "config.json");
    config_ = parse_config(config_text_, folder_ / "config.json");
    if (!std::filesystem::exists(folder_ / single_file) &&
        std::filesystem::exists(folder_ / index_file)) {
        open_shards();
    } else {
        files_.emplace_back(folder_ / single_file);
    }
    for (const SafetensorsFile& file : files_) add_tensors_of(file);
}

void Checkpoint::open_onnx() {
    OnnxNetwork network = read_onnx(folder_);
    parameters_ = std::move(network.parameters);
    const auto add = [&](const std::string& parameter, const std::string& name,
                         std::vector<std::size_t> shape) {
        const auto bytes = std::as_bytes(std::span<const float>(parameters_.at(parameter)));
        const Tensor tensor{name, DType::f32, std::move(shape), bytes};
        if (!tensors_.emplace(name, tensor).second) {
            throw BadInput(folder_.string() + ": two parameters mean " + name);
        }
    };
    for (const base::CnnLayer& layer : network.config.layers) {
        if (!layer.offloaded()) continue;
        const bool linear = layer.kind == base::CnnLayer::Kind::linear;
        const std::size_t m = linear ? layer.m : layer.window.N;
        const std::size_t n = linear ? layer.n : layer.window.patch();
        add(layer.tensor, layer.tensor + ".weight", {m, n});
        if (!layer.bias.empty()) add(layer.bias, layer.bias, {m});
    }
    network_ = std::move(network.config);
    config_text_ = cnn_to_json(*network_);
}

ShardIndex parse_shard_index(std::string_view text, const std::filesystem::path& origin) {
    const json value = parse_json(text, origin);
    JsonObject index(value, origin, "index");
    const json& places = index.field("weight_map");
    if (!places.is_object() || places.empty()) {
        index.refuse("weight_map", "an object from tensors to files");
    }
    ShardIndex shards;
    for (const auto& [tensor, shard] : places.items()) {
        if (!shard.is_string() || !is_plain_file_name(shard.get<std::string>())) {
            refuse_json(origin, "weight_map",
                        "tensor " + tensor + ": expected the name of a file in this folder");
        }
        shards[shard.get<std::string>()].insert(tensor);
    }
    return shards;
}

void Checkpoint::open_shards() {
    const std::filesystem::path index = folder_ / index_file;
    for (const auto& [name, placed] : parse_shard_index(base::read_file(index), index)) {
        const SafetensorsFile& shard = files_.emplace_back(folder_ / name);
        for (const std::string& tensor : placed) {
            if (shard.contains(tensor)) continue;
            throw BadInput(index.string() + ": tensor " + tensor + " is not in " + name);
        }
        for (const auto& [tensor, unused] : shard.tensors()) {
            if (placed.count(tensor) != 0) continue;
            throw BadInput(shard.path().string() + ": holds tensor " + tensor + ", which " +
                           index_file + " does not place there");
        }
    }
}

void Checkpoint::add_tensors_of(const SafetensorsFile& file) {
    for (const auto& [name, stored] : file.tensors()) {
        if (is_computed_table(name)) continue;
        Tensor tensor = stored;
        tensor.name = full_name(config_.family, name);
        if (!tensors_.emplace(tensor.name, tensor).second) {
            throw BadInput(file.path().string() + ": two tensors mean " + tensor.name);
        }
    }
}

const Tensor& Checkpoint::tensor(std::string_view name) const {
    const auto found = tensors_.find(name);
    if (found != tensors_.end()) return found->second;
    throw BadInput(folder_.string() + ": there is no tensor " + std::string(name));
}

/// GPT-2's matrices in the blocks are stored with the inputs first.
bool Checkpoint::stored_transposed(std::string_view name) const {
    return !network_ && config_.family == Family::gpt2 &&
           ends_with_one_of(name, {".c_attn.weight", ".c_proj.weight", ".c_fc.weight"});
}

bool Checkpoint::holds_transposed(std::string_view name) const {
    return !outputs_first_ && stored_transposed(name);
}

void Checkpoint::require_matrix(std::string_view name, std::size_t m, std::size_t n) const {
    std::vector<std::size_t> shape{m, n};
    if (holds_transposed(name)) std::swap(shape[0], shape[1]);
    if (tensor(name).shape == shape) return;
    throw BadInput(folder_.string() + ": tensor " + std::string(name) + " must be " +
                   std::to_string(shape[0]) + " x " + std::to_string(shape[1]) +
                   ", as config.json implies");
}

void Checkpoint::require_matrix(const base::MemberShape& member, std::size_t n) const {
    require_matrix(member.tensor + ".weight", member.tensor_rows, n);
}

std::vector<float> Checkpoint::matrix(const base::MemberShape& member, std::size_t n) const {
    std::vector<float> tensor = floats(member.tensor + ".weight", member.tensor_rows * n);
    if (member.m == member.tensor_rows) return tensor;
    const auto first = tensor.begin() + static_cast<std::ptrdiff_t>(member.first_row * n);
    return {first, first + static_cast<std::ptrdiff_t>(member.m * n)};
}

std::vector<float> Checkpoint::floats(std::string_view name, std::size_t elements) const {
    const Tensor& stored = tensor(name);
    if (stored.elements() != elements) {
        throw BadInput(folder_.string() + ": tensor " + std::string(name) + " has " +
                       std::to_string(stored.elements()) + " elements, but config.json implies " +
                       std::to_string(elements));
    }
    const auto heads = interleaved_heads_.find(name);
    if (heads != interleaved_heads_.end()) {
        return rows_in_halves(to_floats(stored), heads->second, stored.shape[1]);
    }
    const bool matrix = holds_transposed(name) && stored.shape.size() == 2;
    return matrix ? transposed(to_floats(stored), stored.shape[0], stored.shape[1])
                  : to_floats(stored);
}

}  // namespace slip::importing
