// Decomposition plans: reading, writing, and what rank each matrix gets from them (DECO-6).
#include "optimized/artifact/plan.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "reference/decomposition.hpp"

namespace {

using namespace slip::artifact;
using slip::Plan;
using slip::PlanTriplet;
using slip::base::GroupShape;
using slip::testing::refusal;
using slip::testing::TemporaryFolder;
namespace reference = slip::reference;

/// Blocks with q_proj (8 x 8) and down_proj (8 x 20), and lm_head (50 x 8).
std::vector<GroupShape> groups_of(std::size_t blocks) {
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::string prefix = "layers." + std::to_string(block) + ".";
        groups.push_back({8, {{prefix + "q_proj", "q_proj", block, 8}}});
        groups.push_back({20, {{prefix + "down_proj", "down_proj", block, 8}}});
    }
    groups.push_back({8, {{"lm_head", "lm_head", std::nullopt, 50}}});
    return groups;
}

Plan read_text(const std::string& text) {
    const TemporaryFolder folder;
    slip::base::write_file(folder / "plan.json", text, 0600);
    return slip::read_plan(folder / "plan.json");
}

TEST(Plans, DECO_6_reads_triplets) {
    const Plan expected = {{0, "q_proj", 4}, {std::nullopt, "lm_head", 0}};
    EXPECT_EQ(read_text(R"( [[0, "q_proj", 4], [null, "lm_head", 0]] )"), expected);
    EXPECT_EQ(plan_to_json(expected), R"([[0,"q_proj",4],[null,"lm_head",0]])");
    EXPECT_TRUE(read_text("[]").empty());
}

RC_GTEST_PROP(Plans, DECO_6_what_is_written_is_read, ()) {
    const auto plan = *rc::gen::container<Plan>(rc::gen::build<PlanTriplet>(
        rc::gen::set(
            &PlanTriplet::block,
            rc::gen::oneOf(rc::gen::just(std::optional<std::size_t>()),
                           rc::gen::map(rc::gen::arbitrary<std::size_t>(),
                                        [](std::size_t block) { return std::optional(block); }))),
        rc::gen::set(&PlanTriplet::layer_type,
                     rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))),
        rc::gen::set(&PlanTriplet::rank)));
    RC_ASSERT(read_text(plan_to_json(plan)) == plan);
}

TEST(Plans, DECO_6_what_is_no_plan_is_refused_and_named) {
    for (const char* text :
         {"", "{}", "[1]", "[[0,\"q\"]]", "[[0,\"q\",1,1]]", "[[-1,\"q\",1]]", "[[0.0,\"q\",1]]",
          "[[\"0\",\"q\",1]]", "[[0,1,1]]", "[[0,\"q\",-1]]", "[[0,\"q\",1.5]]", "[[0,\"q\",null]]",
          "[[false,\"q\",1]]", "[[0,\"q\",1],]", "[[0,\"q\",1]] x",
          "[[0,\"q\",99999999999999999999]]"}) {
        const std::string message = refusal([&] { read_text(text); });
        EXPECT_NE(message.find("plan.json"), std::string::npos) << text << ": " << message;
    }
    EXPECT_NE(refusal([] { read_text(R"([[0,"q",1],[0,2,1]])"); }).find("triplet 1"),
              std::string::npos);
}

TEST(Plans, DECO_6_a_layer_that_does_not_exist_or_is_named_twice_is_refused) {
    const auto groups = groups_of(2);
    std::vector<std::string> notes;
    const auto refuse = [&](const Plan& plan) {
        return refusal([&] { ranks_of(plan, groups, slip::Strategy::lsc, notes); });
    };
    EXPECT_NE(refuse({{2, "q_proj", 1}}).find("[2, \"q_proj\"]"), std::string::npos);
    EXPECT_NE(refuse({{0, "k_proj", 1}}).find("[0, \"k_proj\"]"), std::string::npos);
    EXPECT_NE(refuse({{0, "lm_head", 1}}).find("[0, \"lm_head\"]"), std::string::npos);
    EXPECT_NE(refuse({{std::nullopt, "q_proj", 1}}).find("[null, \"q_proj\"]"), std::string::npos);
    EXPECT_NE(refuse({{0, "q_proj", 1}, {0, "q_proj", 1}}).find("twice"), std::string::npos);
    EXPECT_NE(refuse({{2, "q_proj", 0}}).find("[2, \"q_proj\"]"), std::string::npos)
        << "a rank of 0 names a layer all the same";
}

TEST(Plans, DECO_2_DECO_6_ranks_are_cut_to_one_below_the_smaller_side_and_reported) {
    std::vector<std::string> notes;
    const Plan plan = {{1, "down_proj", 1000}, {0, "q_proj", 7}, {std::nullopt, "lm_head", 8}};
    const auto ranks = ranks_of(plan, groups_of(2), slip::Strategy::lsc, notes);
    EXPECT_EQ(ranks, (std::vector<std::vector<std::size_t>>{{7}, {0}, {0}, {7}, {7}}));
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_NE(notes[0].find("layers.1.down_proj: rank 1000 is cut to 7"), std::string::npos);
    EXPECT_NE(notes[1].find("lm_head: rank 8 is cut to 7"), std::string::npos);
}

/// Any plan at all: the same verdict and the same ranks as the reference.
RC_GTEST_PROP(Plans, DECO_6_equals_the_reference, ()) {
    const auto groups = groups_of(3);
    std::vector<reference::LayerName> layers;
    for (const GroupShape& group : groups) {
        const slip::base::MemberShape& member = group.members.front();
        layers.emplace_back(
            member.block ? std::optional<int>(static_cast<int>(*member.block)) : std::nullopt,
            member.layer_type);
    }
    const auto count = *rc::gen::inRange<int>(0, 5);
    Plan plan;
    reference::Plan expected;
    for (int i = 0; i < count; ++i) {
        const auto block = *rc::gen::inRange<int>(-1, 4);  // -1 stands for no block
        const auto type =
            *rc::gen::elementOf(std::vector<std::string>{"q_proj", "down_proj", "lm_head", "norm"});
        const auto rank = *rc::gen::inRange<int>(0, 12);
        if (block < 0) {
            plan.push_back({std::nullopt, type, static_cast<std::size_t>(rank)});
            expected.push_back({std::nullopt, type, rank});
        } else {
            plan.push_back({static_cast<std::size_t>(block), type, static_cast<std::size_t>(rank)});
            expected.push_back({block, type, rank});
        }
    }
    bool valid = true;
    try {
        reference::require_valid(expected, layers);
    } catch (const reference::PreconditionError&) {
        valid = false;
    }
    std::vector<std::string> notes;
    if (!valid) {
        RC_ASSERT_THROWS_AS(ranks_of(plan, groups, slip::Strategy::lsc, notes), slip::BadInput);
        return;
    }
    const auto ranks = ranks_of(plan, groups, slip::Strategy::lsc, notes);
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const int wanted = reference::planned_rank(expected, layers[g]);
        RC_ASSERT(ranks[g][0] == static_cast<std::size_t>(reference::retained_rank(
                                     groups[g].members[0].m, groups[g].n, wanted)));
    }
}

TEST(Plans, uniform_plans_cover_the_blocks_and_nothing_else) {
    const auto groups = groups_of(5);
    const Plan all = slip::artifact::uniform_plan(groups, 3, std::nullopt);
    EXPECT_EQ(all.size(), 10u);
    EXPECT_TRUE(std::all_of(all.begin(), all.end(),
                            [](const PlanTriplet& t) { return t.block && t.rank == 3; }));
    const auto blocks_of = [](const Plan& plan) {
        std::map<std::size_t, int> count;
        for (const PlanTriplet& triplet : plan) ++count[*triplet.block];
        return count;
    };
    using Count = std::map<std::size_t, int>;
    EXPECT_EQ(blocks_of(slip::artifact::uniform_plan(groups, 3, 1)), (Count{{0, 2}, {4, 2}}));
    EXPECT_EQ(blocks_of(slip::artifact::uniform_plan(groups, 3, 2)),
              (Count{{0, 2}, {1, 2}, {3, 2}, {4, 2}}));
    EXPECT_EQ(slip::artifact::uniform_plan(groups, 3, 3), all) << "the middle block counts once";
    EXPECT_EQ(slip::artifact::uniform_plan(groups, 3, 99), all);
    EXPECT_TRUE(slip::artifact::uniform_plan(groups, 3, 0).empty());
    std::vector<std::string> notes;
    EXPECT_NO_THROW(ranks_of(all, groups, slip::Strategy::lsc, notes));
    EXPECT_TRUE(notes.empty());
}

}  // namespace
