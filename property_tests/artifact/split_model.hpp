// A small checkpoint and its halves on disk, for the tests of what is written and what is read.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/import/safetensors.hpp"
#include "optimized/split/split_checkpoint.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"

namespace slip::testing {

using nlohmann::json;

inline void expect_refused(const std::function<void()>& action, const std::string& because) {
    const std::string message = refusal(action);
    EXPECT_NE(message.find(because), std::string::npos) << message;
}

/// The matrices of two blocks and a head. The importer's configuration is a LLaMA's, but
/// splitting looks at nothing in it except whether the head is tied.
inline std::vector<base::GroupShape> groups_of(bool tied, std::size_t vocabulary = 16) {
    std::vector<base::GroupShape> groups;
    for (std::size_t block = 0; block < 2; ++block) {
        const std::string prefix = "model.layers." + std::to_string(block) + ".";
        groups.push_back({8,
                          {{prefix + "q_proj", "q_proj", block, 8},
                           {prefix + "k_proj", "k_proj", block, 4},
                           {prefix + "v_proj", "v_proj", block, 5}}});
        groups.push_back({12, {{prefix + "down_proj", "down_proj", block, 8}}});
    }
    groups.push_back(
        {8, {{tied ? "model.embed_tokens" : "lm_head", "lm_head", std::nullopt, vocabulary}}});
    return groups;
}

/// A checkpoint folder under construction; a test may spoil it before it is written.
struct UnwrittenCheckpoint {
    explicit UnwrittenCheckpoint(bool tied_head = true, std::size_t tokens = 16)
        : tied(tied_head), vocabulary(tokens), groups(groups_of(tied_head, tokens)) {
        std::mt19937_64 random(7);
        std::normal_distribution<float> normal(0.0f, 0.1f);
        const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
            std::size_t elements = 1;
            for (const std::size_t extent : shape) elements *= extent;
            for (std::size_t i = 0; i < elements; ++i) values[name].push_back(normal(random));
            shapes[name] = shape;
        };
        add("model.embed_tokens.weight", {vocabulary, 8});
        add("model.norm.weight", {8});
        for (const base::GroupShape& group : groups) {
            for (const base::MemberShape& member : group.members) {
                const std::string name = member.tensor + ".weight";
                if (values.count(name) == 0) add(name, {member.m, group.n});
            }
        }
    }

    /// Also writes a parameter in a 16-bit type with an odd number of elements.
    void write(const std::filesystem::path& folder) const {
        std::filesystem::create_directory(folder);
        const json config = {{"model_type", "llama"},      {"hidden_size", 8},
                             {"intermediate_size", 12},    {"num_hidden_layers", 2},
                             {"num_attention_heads", 2},   {"vocab_size", vocabulary},
                             {"rms_norm_eps", 1e-5},       {"max_position_embeddings", 32},
                             {"tie_word_embeddings", tied}};
        base::write_file(folder / "config.json", config.dump(), 0600);
        base::write_file(folder / "tokenizer.model", "pieces", 0600);
        const std::vector<std::uint16_t> halves = {1, 2, 3};
        std::vector<importing::Tensor> tensors;
        for (const auto& [name, elements] : values) {
            tensors.push_back(
                {name, importing::DType::f32, shapes.at(name), std::as_bytes(std::span(elements))});
        }
        tensors.push_back(
            {"model.extra.half", importing::DType::f16, {3}, std::as_bytes(std::span(halves))});
        importing::write_safetensors(folder / "model.safetensors", tensors, {}, 0600);
    }

    bool tied;
    std::size_t vocabulary;
    std::vector<base::GroupShape> groups;
    std::map<std::string, std::vector<float>> values;
    std::map<std::string, std::vector<std::size_t>> shapes;
};

inline const slip::Plan small_plan = {
    {0, "q_proj", 3}, {1, "down_proj", 2}, {std::nullopt, "lm_head", 1}};

/// A folder with a checkpoint in "model" and its halves in "out".
class SplitModel {
public:
    explicit SplitModel(const UnwrittenCheckpoint& model = UnwrittenCheckpoint(),
                        const slip::Plan& plan = small_plan, std::string set = "paper")
        : model_(model), set_(std::move(set)) {
        model.write(folder_ / "model");
        split(plan, "out");
    }
    std::vector<std::string> split(const slip::Plan& plan, const std::string& name) {
        const importing::Checkpoint checkpoint(folder_ / "model");
        SplitOptions options{plan, folder_ / name};
        options.set = set_;
        return splitting::split_checkpoint(checkpoint, model_.groups, options);
    }

    std::filesystem::path out() const { return folder_ / "out"; }
    std::filesystem::path david() const { return out() / "david"; }
    std::filesystem::path charlie() const { return out() / "charlie"; }
    const TemporaryFolder& folder() const { return folder_; }

    /// Rewrites a file.
    static void replace(const std::filesystem::path& path, const std::string& contents) {
        std::filesystem::remove(path);
        base::write_file(path, contents, 0600);
    }
    /// Rewrites a JSON file after a change.
    static void edit(const std::filesystem::path& path, const std::function<void(json&)>& change) {
        json value = json::parse(base::read_file(path));
        change(value);
        replace(path, value.dump());
        refresh_digests(path.parent_path());
    }
    /// Makes a changed folder of Charlie's consistent again.
    static void refresh_digests(const std::filesystem::path& folder) {
        if (std::filesystem::remove(folder / artifact::layout::digests)) {
            artifact::write_digests(folder, 0600);
        }
    }
    /// Replaces David's weights, his manifest's digest, and Charlie's record of it.
    void replace_weights(const std::string& contents) const {
        replace(david() / "david.safetensors", contents);
        const auto digest = artifact::to_hex(artifact::sha256(std::as_bytes(std::span(contents))));
        edit(david() / "manifest.json", [&](json& value) { value["sha256"] = digest; });
        edit(charlie() / "plan.json", [&](json& value) { value["david_sha256"] = digest; });
    }

private:
    const UnwrittenCheckpoint model_;
    const std::string set_;
    TemporaryFolder folder_;
};

inline std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

}  // namespace slip::testing
