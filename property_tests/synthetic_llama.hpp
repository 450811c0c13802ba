// Small LLaMA-family models with random weights, and what the tests of models need around them.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/language_model.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/split/artifact.hpp"
#include "property_tests/temporary_directory.hpp"

namespace slip::testing {

/// A model in memory. `tensors` has every tensor by its checkpoint name.
struct SyntheticLlama {
    ModelConfig config;
    std::map<std::string, std::vector<float>, std::less<>> tensors;
    std::map<std::string, std::vector<std::size_t>, std::less<>> shapes;

    ParameterLookup lookup() const {
        return [this](std::string_view name, std::size_t elements) {
            const std::vector<float>& values = tensors.find(name)->second;
            require(values.size() == elements, "SyntheticLlama: a tensor of another size");
            return values;
        };
    }
    const std::vector<float>& operator[](const std::string& name) const { return tensors.at(name); }
};

/// Random dimensions, small; key and query heads, the head's tie and all weights drawn from `seed`.
inline SyntheticLlama random_llama(std::uint64_t seed) {
    std::mt19937_64 bits(seed);
    const auto between = [&](std::size_t least, std::size_t most) {
        return least + bits() % (most - least + 1);
    };
    SyntheticLlama model;
    ModelConfig& config = model.config;
    config.num_key_value_heads = between(1, 2);
    config.num_attention_heads = config.num_key_value_heads * between(1, 3);
    config.head_dim = 2 * between(1, 6);
    config.rotary_dim = config.head_dim;
    config.hidden_size = between(5, 40);
    config.intermediate_size = between(5, 60);
    config.num_hidden_layers = between(1, 3);
    config.vocab_size = between(5, 50);
    config.max_position_embeddings = 24;
    config.norm_eps = 1e-5F;
    config.tie_word_embeddings = bits() % 2 == 0;

    std::normal_distribution<float> normal;
    const auto add = [&](const std::string& name, std::vector<std::size_t> shape, float mean,
                         float deviation) {
        std::size_t elements = 1;
        for (const std::size_t extent : shape) elements *= extent;
        std::vector<float> values(elements);
        for (float& value : values) value = mean + deviation * normal(bits);
        model.tensors[name + ".weight"] = std::move(values);
        model.shapes[name + ".weight"] = std::move(shape);
    };
    add("model.embed_tokens", {config.vocab_size, config.hidden_size}, 0, 1);
    add("model.norm", {config.hidden_size}, 1, 0.1F);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = "model.layers." + std::to_string(block) + ".";
        add(prefix + "input_layernorm", {config.hidden_size}, 1, 0.1F);
        add(prefix + "post_attention_layernorm", {config.hidden_size}, 1, 0.1F);
    }
    for (const GroupShape& group : groups_of(config)) {
        for (const MemberShape& member : group.members) {
            if (member.tensor == "model.embed_tokens") continue;
            const float deviation = 1.0F / std::sqrt(static_cast<float>(group.n));
            add(member.tensor, {member.m, group.n}, 0, deviation);
        }
    }
    return model;
}

/// Writes the model as a Hugging Face checkpoint without a tokenizer.
inline void write_checkpoint(const SyntheticLlama& model, const std::filesystem::path& directory) {
    const ModelConfig& c = model.config;
    const auto field = [](const char* name, auto value) {
        return std::string("\"") + name + "\": " + std::to_string(value) + ", ";
    };
    const std::string json =
        "{" + field("hidden_size", c.hidden_size) +
        field("intermediate_size", c.intermediate_size) +
        field("num_hidden_layers", c.num_hidden_layers) +
        field("num_attention_heads", c.num_attention_heads) +
        field("num_key_value_heads", c.num_key_value_heads) + field("head_dim", c.head_dim) +
        field("vocab_size", c.vocab_size) +
        field("max_position_embeddings", c.max_position_embeddings) +
        "\"rms_norm_eps\": 1e-5, \"model_type\": \"llama\", \"tie_word_embeddings\": " +
        (c.tie_word_embeddings ? "true" : "false") + "}";
    std::filesystem::create_directories(directory);
    write_file(directory / "config.json", json, 0644);
    std::vector<Tensor> tensors;
    for (const auto& [name, values] : model.tensors) {
        tensors.push_back(
            {name, DType::f32, model.shapes.at(name), std::as_bytes(std::span(values))});
    }
    write_safetensors(directory / "model.safetensors", tensors, {}, 0644);
}

/// A checkpoint on disk, split with the plan; the files are gone with it.
class SplitLlama {
public:
    SplitLlama(const SyntheticLlama& model, const Plan& plan)
        : artifact_(make(model, plan, directory_.path())),
          charlie(artifact_),
          david(artifact_ / "david"),
          graph_(make_graph(charlie.config(), lookup_in(charlie.parameters()))),
          graph(*graph_) {}

private:
    static std::filesystem::path make(const SyntheticLlama& model, const Plan& plan,
                                      const std::filesystem::path& directory) {
        write_checkpoint(model, directory / "model");
        split_checkpoint(Checkpoint(directory / "model"), groups_of(model.config),
                         {plan, directory / "artifact", {}});
        return directory / "artifact";
    }
    static ParameterLookup lookup_in(const SafetensorsFile& file) {
        return [&file](std::string_view name, std::size_t) { return to_floats(file.tensor(name)); };
    }

    TemporaryDirectory directory_;
    std::filesystem::path artifact_;

public:
    CharlieArtifact charlie;
    DavidArtifact david;

private:
    std::unique_ptr<LanguageModel> graph_;

public:
    const LanguageModel& graph;
};

/// David in process, with a record of what he receives.
class RecordingTransport : public Transport {
public:
    explicit RecordingTransport(DavidSession& session) : inner_(session) {}
    void send(std::span<const std::byte> bytes) override {
        record.emplace_back(bytes.begin(), bytes.end());
        inner_.send(bytes);
    }
    void receive(std::span<std::byte> bytes) override { inner_.receive(bytes); }

    std::vector<std::vector<std::byte>> record;  // a frame a message

private:
    InProcessTransport inner_;
};

/// The hybrid engine over a split model, David in this process.
class HybridRun {
public:
    explicit HybridRun(const SplitLlama& split, CharlieSession::Options options = {},
                       DavidSession::Tamper tamper = {})
        : HybridRun(split, split.david.weights(), options, std::move(tamper)) {}

    /// `weights`: what Charlie's offline work reads; `split`'s own unless a test says otherwise.
    HybridRun(const SplitLlama& split, OffloadedWeights weights, CharlieSession::Options options,
              DavidSession::Tamper tamper = {})
        : weights_(std::move(weights)),
          model_{split.david.weights(), split.david.digest(), Profile::p31},
          david_(model_, std::move(tamper)),
          transport(david_),
          session(weights_, split.charlie.david_digest(), transport, options),
          engine(split.charlie, session) {}

private:
    OffloadedWeights weights_;
    DavidModel model_;
    DavidSession david_;

public:
    RecordingTransport transport;
    CharlieSession session;
    HybridEngine engine;
};

}  // namespace slip::testing
