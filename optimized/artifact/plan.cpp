#include "optimized/artifact/plan.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "optimized/artifact/plan_json.hpp"
#include "optimized/artifact/strategy.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/json.hpp"

namespace slip::artifact {
namespace {

using base::GroupShape;
using base::MemberShape;
using importing::refuse_json;
using nlohmann::json;

/// Where a plan can point to.
using Place = std::pair<std::optional<std::size_t>, std::string>;

std::string describe(const Place& place) {
    const std::string block = place.first ? std::to_string(*place.first) : "null";
    return "[" + block + ", \"" + place.second + "\"]";
}

PlanTriplet triplet_from_json(const json& value, const std::filesystem::path& origin,
                              std::size_t index) {
    const std::string where = "triplet " + std::to_string(index);
    if (!value.is_array() || value.size() != 3) {
        refuse_json(origin, where, "expected [block, layer_type, K]");
    }
    PlanTriplet triplet;
    if (value[0].is_number_unsigned()) {
        triplet.block = value[0].get<std::size_t>();
    } else if (!value[0].is_null()) {
        refuse_json(origin, where, "the block must be an integer from 0 on, or null");
    }
    if (!value[1].is_string()) refuse_json(origin, where, "the layer type must be a string");
    if (!value[2].is_number_unsigned()) {
        refuse_json(origin, where, "the rank K must be an integer from 0 on");
    }
    triplet.layer_type = value[1].get<std::string>();
    triplet.rank = value[2].get<std::size_t>();
    return triplet;
}

/// The rank that `member` gets from `wanted`, with a note if that is less (DECO-2).
std::size_t cut_rank(std::size_t wanted, const MemberShape& member, std::size_t n,
                     Strategy strategy, std::vector<std::string>& notes) {
    if (strategy == Strategy::fms) return kept_terms(strategy, wanted, member.m, n);
    const std::size_t largest = largest_rank(strategy, member.m, n);
    if (wanted <= largest) return wanted;
    notes.push_back(member.name() + ": rank " + std::to_string(wanted) + " is cut to " +
                    std::to_string(largest) + ", one below the smaller side of " +
                    std::to_string(member.m) + " x " + std::to_string(n));
    return largest;
}

}  // namespace

Plan plan_from_json(const json& value, const std::filesystem::path& origin) {
    if (!value.is_array()) refuse_json(origin, "plan", "expected an array of triplets");
    Plan plan;
    for (const json& element : value) {
        plan.push_back(triplet_from_json(element, origin, plan.size()));
    }
    return plan;
}

json plan_as_json(const Plan& plan) {
    json value = json::array();
    for (const PlanTriplet& triplet : plan) {
        const json block = triplet.block ? json(*triplet.block) : json(nullptr);
        value.push_back(json::array({block, triplet.layer_type, triplet.rank}));
    }
    return value;
}

}  // namespace slip::artifact

namespace slip {

Plan read_plan(const std::filesystem::path& path) {
    return artifact::plan_from_json(importing::parse_json(base::read_file(path), path), path);
}

}  // namespace slip

namespace slip::artifact {

std::string plan_to_json(const Plan& plan) { return plan_as_json(plan).dump(); }

Plan uniform_plan(const std::vector<GroupShape>& groups, std::size_t rank,
                  std::optional<std::size_t> first_and_last) {
    std::size_t blocks = 0;
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (member.block) blocks = std::max(blocks, *member.block + 1);
        }
    }
    const std::size_t count = std::min(first_and_last.value_or(blocks), blocks);
    Plan plan;
    for (const GroupShape& group : groups) {
        for (const MemberShape& member : group.members) {
            if (!member.block) continue;
            if (*member.block >= count && *member.block < blocks - count) continue;
            const PlanTriplet triplet{member.block, member.layer_type, rank};
            // Heads that are matrices of their own have one name together (ATTN-1).
            if (plan.empty() || !(plan.back() == triplet)) plan.push_back(triplet);
        }
    }
    return plan;
}

// DECO-6: what the plan does not name has rank 0.
std::vector<std::vector<std::size_t>> ranks_of(const Plan& plan,
                                               const std::vector<GroupShape>& groups,
                                               Strategy strategy, std::vector<std::string>& notes) {
    std::map<Place, std::size_t> wanted;
    for (const PlanTriplet& triplet : plan) {
        const Place place(triplet.block, triplet.layer_type);
        if (!wanted.emplace(place, triplet.rank).second) {
            throw BadInput("the plan names " + describe(place) + " twice");
        }
    }
    std::vector<std::vector<std::size_t>> ranks;
    std::set<Place> found;
    for (const GroupShape& group : groups) {
        std::vector<std::size_t>& members = ranks.emplace_back();
        for (const MemberShape& member : group.members) {
            const auto named = wanted.find(Place(member.block, member.layer_type));
            if (named != wanted.end()) found.insert(named->first);
            members.push_back(named == wanted.end()
                                  ? 0
                                  : cut_rank(named->second, member, group.n, strategy, notes));
        }
    }
    for (const auto& [place, rank] : wanted) {
        if (found.count(place) != 0) continue;
        throw BadInput("the plan names " + describe(place) + ", which the model does not have");
    }
    return ranks;
}

bool names_parts_of_c_attn(const std::string& layer_type) {
    return layer_type == "c_attn.q" || layer_type == "c_attn.k" || layer_type == "c_attn.v";
}

bool names_parts_of_c_attn(const Plan& plan) {
    return std::any_of(plan.begin(), plan.end(), [](const PlanTriplet& triplet) {
        return names_parts_of_c_attn(triplet.layer_type);
    });
}

}  // namespace slip::artifact
