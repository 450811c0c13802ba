#include "optimized/split/descriptions.hpp"
#include "optimized/artifact/sha256.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/tokenizer.hpp"

namespace slip::splitting {

namespace layout = artifact::layout;
namespace parameters = base::parameters;
using base::GroupShape;
using base::MemberShape;
using base::parameters::ParameterSet;
using importing::Checkpoint;
using nlohmann::ordered_json;

namespace {

/// `rank`: null where nothing of the matrix is kept apart (HIDE-1).
ordered_json describe_member(const MemberShape& member, const std::size_t* rank) {
    ordered_json description{
        {"tensor", member.tensor},
        {"layer_type", member.layer_type},
        {"block", member.block ? ordered_json(*member.block) : ordered_json(nullptr)},
        {"m", member.m}};
    if (rank != nullptr) description["rank"] = *rank;
    if (member.m != member.tensor_rows) {  // some rows of a tensor: those of a head
        description["first_row"] = member.first_row;
        description["tensor_rows"] = member.tensor_rows;
    }
    return description;
}

/// CNN-6.
void describe_convolution(const GroupShape& group, ordered_json& description) {
    if (!group.convolution) return;
    const base::Convolution& shape = *group.convolution;
    description["convolution"] = {{"height", shape.H},        {"width", shape.W},
                                  {"channels", shape.C},      {"kernel_height", shape.kH},
                                  {"kernel_width", shape.kW}, {"stride", shape.stride},
                                  {"padding", shape.padding}};
}

/// `ranks` are empty where there are none.
ordered_json describe_group(const GroupShape& group, std::int32_t activation_norm,
                            const std::vector<std::size_t>& ranks) {
    ordered_json members = ordered_json::array();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
        members.push_back(describe_member(group.members[i], ranks.empty() ? nullptr : &ranks[i]));
    }
    ordered_json description{{"n", group.n}, {"activation_norm", activation_norm}};
    if (group.width != 0) {  // HIDE-7
        description["first_column"] = group.first_column;
        description["width"] = group.width;
    }
    description["members"] = members;
    describe_convolution(group, description);
    return description;
}

artifact::Sha256 digest_of_half(const std::vector<artifact::Shard>& shards) {
    std::vector<artifact::Sha256> digests;
    digests.reserve(shards.size());
    for (const artifact::Shard& shard : shards) digests.push_back(shard.digest);
    return layout::digest_of_half(digests);
}

/// plan.json. `shards`: of David's half, its only one or several (MODEL-22).
std::string charlie_description(const Checkpoint& checkpoint, const SplitOptions& options,
                                const SelectionSeed& seed,
                                const std::vector<artifact::Shard>& shards,
                                const ordered_json& groups) {
    ordered_json description({{"format", layout::charlie_format},
                              {"version", parameters::artifact_version},
                              {"set", options.set}});
    if (!checkpoint.network()) description["attention"] = name_of(checkpoint.config().attention);
    if (!layout::require_set(options.set).hides_weights) {
        description["strategy"] = name_of(options.strategy);
        if (artifact::uses_randomness(options.strategy)) {  // DECO-10
            description["seed"] = artifact::to_hex(seed);
        }
        description["t"] = parameters::residual_shift;
        description["plan"] = artifact::plan_as_json(options.plan);
    }
    description["david_sha256"] = artifact::to_hex(digest_of_half(shards));
    if (shards.size() > 1) {
        for (const artifact::Shard& shard : shards) {
            description["shards"].push_back(
                {{"groups", shard.groups}, {"sha256", artifact::to_hex(shard.digest)}});
        }
    }
    description["groups"] = groups;
    return description.dump(1) + "\n";
}

/// manifest.json: what David needs to check his own file, and nothing of Charlie's.
std::string david_description(std::span<const GroupShape> groups, const ParameterSet& set,
                              const Seeds& seeds, const artifact::Sha256& david_digest) {
    ordered_json shapes = ordered_json::array();
    for (const GroupShape& group : groups) {
        shapes.push_back({{"rows", group.product().rows}, {"cols", group.n}});
        describe_convolution(group, shapes.back());
    }
    ordered_json description{{"format", layout::david_format},
                             {"version", parameters::artifact_version},
                             {"set", set.name},
                             {"sha256", artifact::to_hex(david_digest)}};
    if (set.hides_weights) description["seed"] = artifact::to_hex(seeds.masks);  // of U
    description["groups"] = shapes;
    return description.dump(1) + "\n";
}

/// Also replaces what a killed split has left.
void write_description(const std::filesystem::path& path, std::string_view text, mode_t mode) {
    std::filesystem::remove(path);
    base::write_file(path, text, mode);
}

/// The manifest of every shard, `sizes` of which are known. Returns the digests of their weights.
std::vector<artifact::Shard> write_manifests(const std::vector<GroupShape>& groups,
                                             const std::vector<std::size_t>& sizes,
                                             const Seeds& seeds, const ParameterSet& set,
                                             const std::filesystem::path& out) {
    const std::vector<std::string> folders = layout::david_folders(sizes.size());
    std::vector<artifact::Shard> shards;
    std::size_t first = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::filesystem::path david = out / folders[i];
        const auto digest = artifact::sha256_of_file(david / layout::david_weights);
        write_description(
            david / layout::david_description,
            david_description(std::span(groups).subspan(first, sizes[i]), set, seeds, digest),
            base::public_file_mode);
        shards.push_back({sizes[i], digest});
        first += sizes[i];
    }
    return shards;
}

}  // namespace

artifact::Sha256 write_descriptions(const Checkpoint& checkpoint,
                                    const std::vector<GroupShape>& groups,
                                    const std::vector<std::size_t>& shard_sizes, const Ranks& ranks,
                                    const Seeds& seeds, const SplitOptions& options,
                                    const PartialSplit& partial) {
    const std::filesystem::path charlie = partial.folder() / layout::charlie_folder;
    ordered_json descriptions = ordered_json::array();
    for (std::size_t g = 0; g < groups.size(); ++g) {
        descriptions.push_back(
            describe_group(groups[g], partial.finished()[g].value().activation_norm,
                           ranks.empty() ? std::vector<std::size_t>{} : ranks[g]));
    }
    const auto shards = write_manifests(groups, shard_sizes, seeds,
                                        layout::require_set(options.set), partial.folder());
    write_description(
        charlie / layout::charlie_description,
        charlie_description(checkpoint, options, seeds.selection, shards, descriptions),
        parameters::secret_file_mode);
    write_description(charlie / layout::config, checkpoint.config_text(),
                      parameters::secret_file_mode);
    for (const auto& [name, text] : importing::read_tokenizer_files(checkpoint.folder())) {
        write_description(charlie / name, text, parameters::secret_file_mode);
    }
    std::filesystem::remove(charlie / layout::digests);
    artifact::write_digests(charlie, parameters::secret_file_mode);
    return digest_of_half(shards);
}

}  // namespace slip::splitting
