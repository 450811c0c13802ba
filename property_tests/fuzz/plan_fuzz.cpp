// Decomposition plans: triplets, and the ranks that they give a model.
#include <algorithm>

#include "optimized/artifact/plan.hpp"
#include "optimized/artifact/plan_json.hpp"
#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz::plan_fuzz {
namespace {

using namespace artifact;

/// Two blocks with two layers each in one group, and a head.
const std::vector<base::GroupShape>& groups() {
    static const std::vector<base::GroupShape> shapes = {
        {16, {{"a", "q_proj", 0, 16}, {"b", "k_proj", 0, 8}}},
        {16, {{"c", "q_proj", 1, 16}, {"d", "k_proj", 1, 8}}},
        {16, {{"e", "lm_head", std::nullopt, 32}}}};
    return shapes;
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 16;

std::vector<Bytes> seeds() {
    return {bytes_of("[]"),
            bytes_of(plan_to_json(artifact::uniform_plan(groups(), 3, std::nullopt))),
            bytes_of(plan_to_json({{0, "k_proj", 100}, {std::nullopt, "lm_head", 2}}))};
}

bool check(std::span<const std::byte> input) {
    Plan plan;
    if (!accepts<BadInput>([&] {
            plan = plan_from_json(importing::parse_json(text_of(input), "file"), "file");
        })) {
        return false;
    }
    expect(plan_from_json(importing::parse_json(plan_to_json(plan), "file"), "file") == plan,
           "a plan that was written and read again is another plan");
    std::vector<std::vector<std::size_t>> ranks;
    std::vector<std::string> notes;
    if (!accepts<BadInput>([&] { ranks = ranks_of(plan, groups(), Strategy::lsc, notes); }))
        return true;
    expect(plan.size() <= 5, "a plan names more layers than there are");
    for (std::size_t g = 0; g < groups().size(); ++g) {
        expect(ranks[g].size() == groups()[g].members.size(), "a member has no rank");
        for (std::size_t i = 0; i < ranks[g].size(); ++i) {
            expect(ranks[g][i] < std::min(groups()[g].n, groups()[g].members[i].m),
                   "a rank is not below the smaller side");
        }
    }
    return true;
}

const Target target{"plan_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::plan_fuzz
