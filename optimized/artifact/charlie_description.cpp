// What Charlie's plan.json says.
#include <nlohmann/json.hpp>
#include <string_view>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/reading.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/json.hpp"

namespace slip::artifact {
namespace {

namespace parameters = base::parameters;
using base::GroupShape;
using importing::JsonObject;
using nlohmann::json;

/// DECO-10: strategies that choose at random have a seed, the others have none.
Strategy strategy_field(JsonObject& object) {
    const auto strategy = strategy_named(object.text("strategy"));
    if (!strategy) object.refuse("strategy", "one of lsc, rcs, norm, random, fms");
    if (uses_randomness(*strategy)) reading::digest_field(object, "seed");
    return *strategy;
}

Attention attention_field(JsonObject& object) {
    const auto order = attention_named(object.text("attention"));
    if (!order) object.refuse("attention", "\"fused\" or \"paper\"");
    return *order;
}

/// Without the tensors.
CharlieMember read_member(const json& value, std::size_t n, const CharlieDescription& of,
                          const std::filesystem::path& path, const std::string& where) {
    JsonObject object(value, path, where);
    CharlieMember member;
    member.shape.tensor = object.text("tensor");
    member.shape.layer_type = object.text("layer_type");
    if (!object.field("block").is_null()) {
        member.shape.block = object.integer("block", 0, parameters::largest_group_count);
    }
    const std::size_t m = object.integer("m", 1, parameters::largest_extent);
    if (!of.set->hides_weights) {
        member.rank = object.integer("rank", 0, largest_rank(of.strategy, m, n));
    }
    member.shape.m = member.shape.tensor_rows = m;
    if (object.has("first_row")) {
        member.shape.tensor_rows = object.integer("tensor_rows", m + 1, parameters::largest_extent);
        member.shape.first_row = object.integer("first_row", 0, member.shape.tensor_rows - m);
    }
    object.refuse_unknown_fields();
    return member;
}

/// HIDE-7: where a part of matrices lies in them.
void read_part(JsonObject& object, CharlieGroup& group) {
    if (!object.has("width")) return;
    group.width = object.integer("width", group.n + 1, parameters::largest_extent);
    group.first_column = object.integer("first_column", 0, group.width - group.n);
}

/// ENC-3, or the norm of the width (HIDE-2).
std::int32_t norm_field(JsonObject& object, const parameters::ParameterSet& set, std::size_t n) {
    std::size_t least = parameters::smallest_activation_norm;
    std::size_t most = parameters::largest_activation_norm;
    if (set.hides_weights) {
        if (n > base::widest_hidden) object.refuse("n", "at most 6144 columns of a hidden matrix");
        least = most = static_cast<std::size_t>(base::hidden_width(n).norm);
    }
    return static_cast<std::int32_t>(object.integer("activation_norm", least, most));
}

CharlieGroup read_group(const json& value, const CharlieDescription& of,
                        const std::filesystem::path& path, const std::string& where) {
    JsonObject object(value, path, where);
    CharlieGroup group;
    group.n = object.integer("n", 1, parameters::largest_extent);
    group.activation_norm = norm_field(object, *of.set, group.n);
    if (of.set->hides_weights) read_part(object, group);
    for (const json& element : object.array("members")) {
        const std::string place = where + ".members[" + std::to_string(group.members.size()) + "]";
        group.members.push_back(read_member(element, group.n, of, path, place));
    }
    if (group.members.empty()) object.refuse("members", "at least one member");
    if (!of.set->hides_weights) {
        group.convolution = reading::convolution(object, group.product().rows, group.n);
    }
    if (group.convolution && group.members.size() != 1) {
        object.refuse("members", "the kernel matrix alone");
    }
    object.refuse_unknown_fields();
    return group;
}

/// The ranks must be those that the plan gives.
void require_planned_ranks(const Plan& plan, Strategy strategy,
                           const std::vector<CharlieGroup>& groups,
                           const std::filesystem::path& path) {
    std::vector<GroupShape> shapes;
    shapes.reserve(groups.size());
    for (const CharlieGroup& group : groups) shapes.push_back(group.shape());
    std::vector<std::string> notes;  // were given when the model was split
    const auto ranks = ranks_of(plan, shapes, strategy, notes);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (std::size_t i = 0; i < groups[g].members.size(); ++i) {
            if (groups[g].members[i].rank != ranks[g][i]) {
                reading::fail(path, "the rank of " + groups[g].members[i].shape.tensor +
                                        " is not the one that its plan gives");
            }
        }
    }
}

/// MODEL-22.
void read_shards(JsonObject& object, CharlieDescription& description,
                 const std::filesystem::path& path) {
    std::vector<Shard>& shards = description.shards;
    if (!object.has("shards")) {
        shards.push_back({description.groups.size(), description.david_digest});
        return;
    }
    std::size_t groups = 0;
    std::vector<Sha256> digests;
    for (const json& element : object.array("shards")) {
        JsonObject shard(element, path, "shards[" + std::to_string(shards.size()) + "]");
        shards.push_back({shard.integer("groups", 1, parameters::largest_group_count),
                          reading::digest_field(shard, "sha256")});
        shard.refuse_unknown_fields();
        groups += shards.back().groups;
        digests.push_back(shards.back().digest);
    }
    if (shards.size() < 2 || groups != description.groups.size()) {
        object.refuse("shards", "two or more, which have all groups");
    }
    if (layout::digest_of_half(digests) != description.david_digest) {
        object.refuse("david_sha256", "the SHA-256 of the digests of the shards");
    }
}

}  // namespace

CharlieDescription parse_charlie_description(std::string_view text,
                                             const std::filesystem::path& origin) {
    const json value = importing::parse_json(text, origin);
    JsonObject object(value, origin, "description");
    CharlieDescription description;
    description.set = reading::header(object, layout::charlie_format, origin);
    if (object.has("attention")) description.attention = attention_field(object);
    if (!description.set->hides_weights) {
        description.strategy = strategy_field(object);
        object.integer("t", parameters::residual_shift, parameters::residual_shift);
        description.plan = plan_from_json(object.array("plan"), origin);
    }
    description.david_digest = reading::digest_field(object, "david_sha256");
    std::vector<CharlieGroup>& groups = description.groups;
    for (const json& element : object.array("groups")) {
        const std::string where = "groups[" + std::to_string(groups.size()) + "]";
        groups.push_back(read_group(element, description, origin, where));
    }
    if (groups.empty() || groups.size() > parameters::largest_group_count) {
        object.refuse("groups", "1 to 2^16 groups");
    }
    read_shards(object, description, origin);
    object.refuse_unknown_fields();
    if (!description.set->hides_weights) {
        require_planned_ranks(description.plan, description.strategy, groups, origin);
    }
    return description;
}

}  // namespace slip::artifact
