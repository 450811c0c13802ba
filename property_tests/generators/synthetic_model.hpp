// Small models with random weights, and what the tests of models need around them.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "optimized/split/split_checkpoint.hpp"
#include "property_tests/generators/recording_transport.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace slip::testing {

/// A model in memory. `tensors` has every tensor by its checkpoint name.
struct SyntheticModel {
    base::ModelConfig config;
    std::map<std::string, std::vector<float>, std::less<>> tensors;
    std::map<std::string, std::vector<std::size_t>, std::less<>> shapes;

    graph::ParameterLookup lookup() const {
        return [this](std::string_view name, std::size_t elements) {
            const std::vector<float>& values = tensors.find(name)->second;
            base::require(values.size() == elements, "SyntheticModel: a tensor of another size");
            return values;
        };
    }
    const std::vector<float>& operator[](const std::string& name) const { return tensors.at(name); }
};

/// Where a model's dimensions and weights come from.
struct Draws {
    std::function<std::size_t(std::size_t least, std::size_t most)> between;
    std::function<float()> weight;  // of mean 0 and deviation 1
};

inline Draws draws_from(std::uint64_t seed) {
    const auto bits = std::make_shared<std::mt19937_64>(seed);
    const auto normal = std::make_shared<std::normal_distribution<float>>();
    return {[bits](std::size_t least, std::size_t most) {
                return least + (*bits)() % (most - least + 1);
            },
            [bits, normal] { return (*normal)(*bits); }};
}

/// Draws a model's dimensions and weights.
class RandomModel {
public:
    explicit RandomModel(Draws draws) : draws_(std::move(draws)) {}

    std::size_t between(std::size_t least, std::size_t most) { return draws_.between(least, most); }
    /// Adds the tensor `name` with values of this mean and deviation.
    void add(const std::string& name, std::vector<std::size_t> shape, float mean, float deviation) {
        std::size_t elements = 1;
        for (const std::size_t extent : shape) elements *= extent;
        std::vector<float> values(elements);
        for (float& value : values) value = mean + deviation * draws_.weight();
        model.tensors[name] = std::move(values);
        model.shapes[name] = std::move(shape);
    }
    void add_norm(const std::string& name, std::size_t width) {
        add(name + ".weight", {width}, 1, 0.1F);
        if (model.config.family != base::Family::llama) add(name + ".bias", {width}, 0, 0.1F);
    }
    /// Every offloaded matrix but a tied head, with the biases that the family has.
    void add_matrices() {
        const base::ModelConfig& config = model.config;
        for (const base::GroupShape& group : graph::groups_of(config)) {
            for (const base::MemberShape& member : group.members) {
                const bool head = !member.block;
                const bool tied = head && config.tie_word_embeddings;
                const float deviation = 1.0F / std::sqrt(static_cast<float>(group.n));
                if (!tied) add(member.tensor + ".weight", {member.m, group.n}, 0, deviation);
                if (config.family == base::Family::phi ||
                    (config.family == base::Family::gpt2 && !head)) {
                    add((tied ? "lm_head" : member.tensor) + ".bias", {member.m}, 0, 0.3F);
                }
            }
        }
    }
    /// The dimensions that every family has.
    void draw_dimensions(base::Family family) {
        base::ModelConfig& config = model.config;
        config.family = family;
        config.intermediate_size = between(5, 60);
        config.num_hidden_layers = between(1, 3);
        config.vocab_size = between(5, 50);
        config.max_position_embeddings = 24;
        config.norm_eps = 1e-5F;
        config.tie_word_embeddings = between(0, 1) == 0;
    }

    SyntheticModel model;

private:
    Draws draws_;
};

/// Random dimensions, small; key and query heads, the head's tie and all weights are drawn.
inline SyntheticModel draw_llama(const Draws& draws) {
    RandomModel random(draws);
    random.draw_dimensions(base::Family::llama);
    base::ModelConfig& config = random.model.config;
    config.num_key_value_heads = random.between(1, 2);
    config.num_attention_heads = config.num_key_value_heads * random.between(1, 3);
    config.head_dim = 2 * random.between(1, 6);
    config.rotary_dim = config.head_dim;
    config.hidden_size = random.between(5, 40);
    random.add("model.embed_tokens.weight", {config.vocab_size, config.hidden_size}, 0, 1);
    random.add_norm("model.norm", config.hidden_size);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = "model.layers." + std::to_string(block) + ".";
        random.add_norm(prefix + "input_layernorm", config.hidden_size);
        random.add_norm(prefix + "post_attention_layernorm", config.hidden_size);
    }
    random.add_matrices();
    return random.model;
}

inline SyntheticModel draw_gpt2(const Draws& draws) {
    RandomModel random(draws);
    random.draw_dimensions(base::Family::gpt2);
    base::ModelConfig& config = random.model.config;
    config.num_attention_heads = config.num_key_value_heads = random.between(1, 4);
    config.head_dim = random.between(4, 10);
    config.hidden_size = config.query_width();
    random.add("transformer.wte.weight", {config.vocab_size, config.hidden_size}, 0, 1);
    random.add("transformer.wpe.weight", {config.max_position_embeddings, config.hidden_size}, 0,
               0.5F);
    random.add_norm("transformer.ln_f", config.hidden_size);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        const std::string prefix = "transformer.h." + std::to_string(block) + ".";
        random.add_norm(prefix + "ln_1", config.hidden_size);
        random.add_norm(prefix + "ln_2", config.hidden_size);
    }
    random.add_matrices();
    return random.model;
}

inline SyntheticModel draw_phi(const Draws& draws) {
    RandomModel random(draws);
    random.draw_dimensions(base::Family::phi);
    base::ModelConfig& config = random.model.config;
    config.num_key_value_heads = random.between(1, 2);
    config.num_attention_heads = config.num_key_value_heads * random.between(1, 3);
    config.rotary_dim = 2 * random.between(1, 3);
    config.head_dim = config.rotary_dim + random.between(2, 6);
    config.hidden_size = config.query_width();
    random.add("model.embed_tokens.weight", {config.vocab_size, config.hidden_size}, 0, 1);
    random.add_norm("model.final_layernorm", config.hidden_size);
    for (std::size_t block = 0; block < config.num_hidden_layers; ++block) {
        random.add_norm("model.layers." + std::to_string(block) + ".input_layernorm",
                        config.hidden_size);
    }
    random.add_matrices();
    return random.model;
}

inline SyntheticModel random_llama(std::uint64_t seed) { return draw_llama(draws_from(seed)); }
inline SyntheticModel random_gpt2(std::uint64_t seed) { return draw_gpt2(draws_from(seed)); }
inline SyntheticModel random_phi(std::uint64_t seed) { return draw_phi(draws_from(seed)); }

/// One of the three families.
inline SyntheticModel random_model(std::uint64_t seed) {
    const std::array families{random_llama, random_gpt2, random_phi};
    return families[seed % families.size()](seed);
}

/// The config.json of a model, with its family's names.
inline nlohmann::json config_json(const base::ModelConfig& c) {
    if (c.family == base::Family::gpt2) {
        return {{"model_type", "gpt2"},
                {"n_embd", c.hidden_size},
                {"n_inner", c.intermediate_size},
                {"n_layer", c.num_hidden_layers},
                {"n_head", c.num_attention_heads},
                {"vocab_size", c.vocab_size},
                {"n_positions", c.max_position_embeddings},
                {"layer_norm_epsilon", 1e-5},
                {"tie_word_embeddings", c.tie_word_embeddings}};
    }
    nlohmann::json json{{"model_type", c.family == base::Family::phi ? "phi" : "llama"},
                        {"hidden_size", c.hidden_size},
                        {"intermediate_size", c.intermediate_size},
                        {"num_hidden_layers", c.num_hidden_layers},
                        {"num_attention_heads", c.num_attention_heads},
                        {"num_key_value_heads", c.num_key_value_heads},
                        {"vocab_size", c.vocab_size},
                        {"max_position_embeddings", c.max_position_embeddings},
                        {"tie_word_embeddings", c.tie_word_embeddings}};
    if (c.family == base::Family::phi) {
        json["layer_norm_eps"] = 1e-5;
        // Half an element more than rotary_dim, so that no rounding makes it one less.
        json["partial_rotary_factor"] = std::min(
            1.0, (static_cast<double>(c.rotary_dim) + 0.5) / static_cast<double>(c.head_dim));
    } else {
        json["rms_norm_eps"] = 1e-5;
        json["head_dim"] = c.head_dim;
    }
    return json;
}

/// The shape and the bytes of a tensor as its family's files store it: GPT-2's matrices in the
/// blocks with the inputs first.
inline std::pair<std::vector<std::size_t>, std::vector<float>> as_stored(
    const SyntheticModel& model, const std::string& name) {
    std::vector<std::size_t> shape = model.shapes.at(name);
    const std::vector<float>& values = model.tensors.at(name);
    const bool turned = model.config.family == base::Family::gpt2 && shape.size() == 2 &&
                        name.find(".h.") != std::string::npos;
    if (!turned) return {shape, values};
    const std::size_t m = shape[0];
    const std::size_t n = shape[1];
    std::vector<float> stored(values.size());
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) stored[j * m + i] = values[i * n + j];
    }
    return {{n, m}, stored};
}

/// Writes the model as a Hugging Face checkpoint without a tokenizer.
inline void write_checkpoint(const SyntheticModel& model, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    base::write_file(folder / "config.json", config_json(model.config).dump(), 0644);
    std::map<std::string, std::vector<float>> values;
    std::vector<importing::Tensor> tensors;
    for (const auto& [name, unused] : model.tensors) {
        auto [shape, stored] = as_stored(model, name);
        values[name] = std::move(stored);
        tensors.push_back(
            {name, importing::DType::f32, shape, std::as_bytes(std::span(values[name]))});
    }
    importing::write_safetensors(folder / "model.safetensors", tensors, {}, 0644);
}

inline std::vector<TokenId> random_ids(std::uint64_t seed, std::size_t count,
                                       std::size_t vocabulary) {
    std::mt19937_64 bits(seed);
    std::vector<TokenId> ids(count);
    for (TokenId& id : ids) id = static_cast<TokenId>(bits() % vocabulary);
    return ids;
}

/// The logits of every position, `calls` tokens per call.
inline std::vector<float> logits_in_calls(const graph::Transformer& graph, base::Engine& engine,
                                          const std::vector<TokenId>& ids,
                                          std::size_t tokens_per_call) {
    graph::KvCache cache(graph.config());
    graph::Workspace workspace;
    std::vector<float> all;
    std::vector<float> some;
    for (std::size_t at = 0; at < ids.size(); at += tokens_per_call) {
        const std::size_t count = std::min(tokens_per_call, ids.size() - at);
        graph.forward(engine, workspace,
                      {cache, std::span(ids).subspan(at, count), graph::Logits::every_position},
                      some);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    return bits;
}

/// K for every matrix, the head included; the splitter cuts what is too large.
inline Plan plan_for_all(const base::ModelConfig& config, std::size_t rank) {
    Plan plan = artifact::uniform_plan(graph::groups_of(config), rank, std::nullopt);
    plan.push_back({std::nullopt, "lm_head", rank});
    return plan;
}

/// A checkpoint on disk, split with the plan; the files are gone with it.
class SplitLlama {
public:
    SplitLlama(const SyntheticModel& model, const Plan& plan)
        : artifact_(
              make(model, options_of(model.config.attention, plan), folder_.path() / "model")),
          charlie(artifact_),
          david(artifact_ / "david"),
          graph_(graph::make_graph(charlie.config(), lookup_in(charlie.parameters()))),
          graph(*graph_) {}
    /// The same of a checkpoint that is there already.
    SplitLlama(const std::filesystem::path& checkpoint, Attention attention, const Plan& plan)
        : artifact_(
              split(importing::Checkpoint(checkpoint, attention), options_of(attention, plan))),
          charlie(artifact_),
          david(artifact_ / "david"),
          graph_(graph::make_graph(charlie.config(), lookup_in(charlie.parameters()))),
          graph(*graph_) {}

private:
    SplitOptions options_of(Attention attention, const Plan& plan) const {
        SplitOptions options;
        options.plan = plan;
        options.out = folder_.path() / "artifact";
        options.attention = attention;
        options.set = "paper-lattice";
        return options;
    }
    static std::filesystem::path make(const SyntheticModel& model, const SplitOptions& options,
                                      const std::filesystem::path& checkpoint) {
        write_checkpoint(model, checkpoint);
        return split(importing::Checkpoint(checkpoint, model.config.attention), options);
    }
    static std::filesystem::path split(const importing::Checkpoint& checkpoint,
                                       const SplitOptions& options) {
        splitting::split_checkpoint(checkpoint, graph::groups_of(checkpoint.config()), options);
        return options.out;
    }
    static graph::ParameterLookup lookup_in(const importing::SafetensorsFile& file) {
        return [&file](std::string_view name, std::size_t) {
            return importing::to_floats(file.tensor(name));
        };
    }

    TemporaryFolder folder_;
    std::filesystem::path artifact_;

public:
    artifact::CharlieArtifact charlie;
    artifact::DavidArtifact david;

private:
    std::unique_ptr<graph::Transformer> graph_;

public:
    const graph::Transformer& graph;
};

/// The APPLY messages that were sent.
inline std::vector<protocol::wire::ColumnsHeader> applies_in(const RecordingTransport& transport) {
    std::vector<protocol::wire::ColumnsHeader> headers;
    for (const auto& frame : transport.sent) {
        const auto payload = std::span(frame).subspan(protocol::wire::length_bytes);
        if (protocol::wire::frame_type(payload) != protocol::wire::FrameType::apply) continue;
        headers.push_back(
            protocol::wire::decode_columns_header(protocol::wire::FrameType::apply, payload));
    }
    return headers;
}

/// The hybrid engine over a split model, David in this process.
class HybridRun {
public:
    explicit HybridRun(const SplitLlama& split, protocol::SessionOptions options = {},
                       protocol::DavidSession::Tamper tamper = {})
        : HybridRun(split, split.david.weights(), options, std::move(tamper)) {}

    /// `weights`: what Charlie's work ahead of use reads; `split`'s own unless a test says
    /// otherwise.
    HybridRun(const SplitLlama& split, kernels::OffloadedWeights weights,
              protocol::SessionOptions options, protocol::DavidSession::Tamper tamper = {})
        : weights_(std::move(weights)),
          model_{split.david.weights(), split.david.set(), split.david.digest()},
          david_(model_, std::move(tamper)),
          check_(split.charlie.check_secret(), kernels::shapes_of(weights_),
                 split.charlie.set().planes),
          transport(david_),
          engine(split.charlie, weights_, check_, transport, without_peer(options)) {}

private:
    static protocol::SessionOptions without_peer(protocol::SessionOptions options) {
        options.wrong_peers = nullptr;
        return options;
    }

    kernels::OffloadedWeights weights_;
    protocol::DavidModel model_;
    protocol::DavidSession david_;
    protocol::IntegrityCheck check_;

public:
    RecordingTransport transport;
    engines::HybridEngine engine;
};

}  // namespace slip::testing
