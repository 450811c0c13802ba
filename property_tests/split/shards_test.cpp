// How a model is divided among Davids, and that it runs (MODEL-22).
#include "optimized/split/shards.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/error.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/split/split_checkpoint.hpp"
#include "property_tests/artifact/split_model.hpp"

namespace slip::testing {
namespace {

using artifact::CharlieArtifact;
using artifact::DavidArtifact;
using base::GroupShape;
using splitting::groups_of_shards;
namespace parameters = base::parameters;

GroupShape group_of(std::optional<std::size_t> block, std::size_t rows, std::size_t first_column) {
    GroupShape group;
    group.n = 4;
    group.first_column = first_column;
    group.members = {{"w", "w", block, rows, rows, 0}};
    return group;
}

/// Blocks of one to three groups, and a head of one or two parts.
struct Drawn {
    std::vector<GroupShape> groups;
    std::vector<std::size_t> sizes;  // groups of each block
    std::vector<std::uint64_t> bytes;
};

Drawn draw_blocks() {
    Drawn drawn;
    const auto blocks = *rc::gen::inRange<std::size_t>(1, 8);
    for (std::size_t b = 0; b <= blocks; ++b) {
        drawn.sizes.push_back(*rc::gen::inRange<std::size_t>(1, b == blocks ? 3 : 4));
        drawn.bytes.push_back(0);
        for (std::size_t i = 0; i < drawn.sizes.back(); ++i) {
            const auto rows = *rc::gen::inRange<std::size_t>(1, 9);
            const bool is_head = b == blocks;
            drawn.groups.push_back(
                group_of(is_head ? std::nullopt : std::optional(b), rows, is_head ? 4 * i : 0));
            drawn.bytes.back() += 4 * rows;
        }
    }
    return drawn;
}

/// By trying all borders.
std::uint64_t least_largest(const Drawn& drawn, std::size_t from, std::size_t shards) {
    const std::size_t left = drawn.bytes.size() - from;
    if (shards == 1) {
        return std::accumulate(drawn.bytes.begin() + static_cast<std::ptrdiff_t>(from),
                               drawn.bytes.end(), std::uint64_t{0});
    }
    std::uint64_t best = std::numeric_limits<std::uint64_t>::max(), own = 0;
    for (std::size_t taken = 1; taken + shards <= left + 1; ++taken) {
        own += drawn.bytes[from + taken - 1];
        best = std::min(best, std::max(own, least_largest(drawn, from + taken, shards - 1)));
    }
    return best;
}

RC_GTEST_PROP(Shards, MODEL_22_whole_blocks_and_the_largest_as_small_as_can_be, ()) {
    const Drawn drawn = draw_blocks();
    const auto shards = *rc::gen::inRange<std::size_t>(1, drawn.sizes.size() + 1);
    const auto groups = groups_of_shards(drawn.groups, parameters::parameter_sets.front(), shards);
    RC_ASSERT(groups.size() == shards);
    std::uint64_t largest = 0;
    std::size_t block = 0;
    for (std::size_t count : groups) {
        std::uint64_t bytes = 0;
        RC_ASSERT(count > 0U);
        while (count > 0) {
            RC_ASSERT(block < drawn.sizes.size());
            RC_ASSERT(count >= drawn.sizes[block]);
            count -= drawn.sizes[block];
            bytes += drawn.bytes[block++];
        }
        largest = std::max(largest, bytes);
    }
    RC_ASSERT(block == drawn.sizes.size());
    RC_ASSERT(largest == least_largest(drawn, 0, shards));
}

TEST(Shards, MODEL_22_more_shards_than_blocks_are_refused) {
    const std::vector<GroupShape> groups{group_of(0, 3, 0), group_of(0, 3, 0), group_of(1, 3, 0),
                                         group_of(std::nullopt, 3, 0)};
    const auto& set = parameters::parameter_sets.front();
    EXPECT_EQ(groups_of_shards(groups, set, 3), (std::vector<std::size_t>{2, 1, 1}));
    for (const std::size_t shards : {std::size_t{0}, std::size_t{4}}) {
        EXPECT_NE(refusal([&] {
                      groups_of_shards(groups, set, shards);
                  }).find("a model of 3 blocks, its head counted as one"),
                  std::string::npos);
    }
}

/// The same model, in one half of David's and in shards.
class Sharded {
public:
    Sharded() {
        model_.write(split_.folder() / "shards_of");
        const importing::Checkpoint checkpoint(split_.folder() / "shards_of");
        SplitOptions options{small_plan, out()};
        options.set = "paper";
        options.shards = 2;
        splitting::split_checkpoint(checkpoint, model_.groups, options);
    }
    std::filesystem::path out() const { return split_.folder() / "sharded"; }
    std::vector<std::filesystem::path> davids() const {
        return {out() / "david-0", out() / "david-1"};
    }
    const SplitModel& whole() const { return split_; }

private:
    const UnwrittenCheckpoint model_;
    const SplitModel split_{model_};
};

TEST(Shards, MODEL_22_shards_hold_what_the_whole_half_does) {
    const Sharded sharded;
    EXPECT_FALSE(std::filesystem::exists(sharded.out() / "david"));
    const CharlieArtifact charlie(sharded.out());
    const DavidArtifact whole(sharded.whole().david()), both(sharded.davids());
    EXPECT_NO_THROW(require_same_split(charlie, both));
    ASSERT_EQ(both.weights().size(), whole.weights().size());
    for (std::size_t g = 0; g < whole.weights().size(); ++g) {
        const auto rows = whole.weights()[g].rows();
        const auto expected = whole.weights()[g].rows_from(0, rows),
                   found = both.weights()[g].rows_from(0, rows);
        EXPECT_TRUE(std::ranges::equal(found.elements(), expected.elements()));
    }
    ASSERT_EQ(charlie.shards().size(), 2U);
    std::size_t groups = 0;
    std::vector<artifact::Sha256> digests;
    for (std::size_t i = 0; i < 2; ++i) {
        const DavidArtifact shard(sharded.davids()[i]);
        EXPECT_EQ(shard.digest(), charlie.shards()[i].digest);
        EXPECT_EQ(shard.weights().size(), charlie.shards()[i].groups);
        EXPECT_FALSE(refusal([&] { require_same_split(charlie, shard); }).empty());
        groups += charlie.shards()[i].groups;
        digests.push_back(shard.digest());
    }
    EXPECT_EQ(groups, charlie.groups().size());
    EXPECT_EQ(artifact::layout::digest_of_half(digests), charlie.david_digest());
}

/// A split that was killed in its second shard goes on there.
TEST(Shards, MODEL_22_DECO_11_a_killed_split_goes_on_in_its_shard) {
    const UnwrittenCheckpoint model;
    const TemporaryFolder folder;
    const auto partial = folder / ".out.slip-partial", left = folder / "left";
    model.write(folder / "model");
    const importing::Checkpoint checkpoint(folder / "model");
    SplitOptions options{small_plan, folder / "out"};
    options.set = "paper";
    options.shards = 3;
    options.progress = [&](const SplitProgress& now) {
        if (now.finished + 2 < now.matrices) return;
        std::filesystem::copy(partial, left, std::filesystem::copy_options::recursive);
        throw std::runtime_error("killed");
    };
    EXPECT_THROW(splitting::split_checkpoint(checkpoint, model.groups, options),
                 std::runtime_error);
    std::filesystem::rename(left, partial);
    std::size_t skipped = 0;
    options.progress = [&](const SplitProgress& now) { skipped = now.skipped; };
    splitting::split_checkpoint(checkpoint, model.groups, options);
    EXPECT_GT(skipped, 0U);
    const DavidArtifact shards(
        std::vector{folder / "out/david-0", folder / "out/david-1", folder / "out/david-2"});
    EXPECT_NO_THROW(require_same_split(CharlieArtifact(folder / "out"), shards));
}

TEST(Shards, MODEL_22_shards_of_another_order_or_split_are_refused) {
    const Sharded sharded;
    const CharlieArtifact charlie(sharded.out());
    const DavidArtifact swapped(std::vector{sharded.davids()[1], sharded.davids()[0]});
    EXPECT_NE(refusal([&] { require_same_split(charlie, swapped); }).find("different splits"),
              std::string::npos);
    const auto manifest = sharded.davids()[1] / "manifest.json";
    SplitModel::edit(manifest, [](auto& json) { json["set"] = "paper-lattice"; });
    EXPECT_NE(refusal([&] { DavidArtifact{sharded.davids()}; }).find("of another split"),
              std::string::npos);
}

TEST(Shards, MODEL_22_a_plan_that_lies_about_its_shards_is_refused) {
    using nlohmann::json;
    const std::vector<std::pair<std::function<void(json&)>, std::string>> lies{
        {[](json& plan) { plan["shards"][0]["groups"] = 1; }, "have all groups"},
        {[](json& plan) { plan["shards"].erase(1); }, "two or more"},
        {[](json& plan) { plan["shards"] = json::array(); }, "two or more"},
        {[](json& plan) { plan["shards"][0]["groups"] = 0; }, "groups"},
        {[](json& plan) { plan["shards"][0]["rows"] = 1; }, "rows"},
        {[](json& plan) { std::swap(plan["shards"][0]["sha256"], plan["shards"][1]["sha256"]); },
         "digests of the shards"},
    };
    for (const auto& [lie, because] : lies) {
        const Sharded sharded;
        SplitModel::edit(sharded.out() / "charlie/plan.json", lie);
        EXPECT_NE(refusal([&] { CharlieArtifact{sharded.out()}; }).find(because), std::string::npos)
            << because;
    }
}

}  // namespace
}  // namespace slip::testing
