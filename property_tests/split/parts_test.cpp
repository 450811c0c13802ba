// DECO-11: several processes split one checkpoint, a part of its groups each.
#include "optimized/split/parts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "optimized/split/split_checkpoint.hpp"
#include "property_tests/artifact/split_model.hpp"

namespace slip::testing {
namespace {

using base::GroupShape;
using base::read_file;
using splitting::GroupRange;
namespace fs = std::filesystem;

std::vector<GroupShape> groups_with(const std::vector<std::size_t>& rows) {
    std::vector<GroupShape> groups;
    for (const std::size_t m : rows) groups.push_back({8, {{"w", "w", 0, m}}});
    return groups;
}

/// One part after the other covers the groups, and no part has more than its share of the weights
/// and the largest group.
RC_GTEST_PROP(Parts, DECO_11_every_group_is_in_one_part, ()) {
    const auto rows = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 300)));
    const auto groups = groups_with(rows);
    const auto count = *rc::gen::inRange<std::size_t>(1, groups.size() + 1);
    std::size_t next = 0, all = 0, largest = 0;
    for (const GroupShape& group : groups) {
        all += splitting::weights_in(group);
        largest = std::max(largest, splitting::weights_in(group));
    }
    for (std::size_t number = 1; number <= count; ++number) {
        const GroupRange range = splitting::range_of(groups, SplitPart{number, count});
        RC_ASSERT(range.first == next);
        RC_ASSERT(range.end >= range.first);
        std::size_t weights = 0;
        for (std::size_t g = range.first; g < range.end; ++g) {
            weights += splitting::weights_in(groups[g]);
        }
        RC_ASSERT(weights <= all / count + 1 + largest);
        next = range.end;
    }
    RC_ASSERT(next == groups.size());
}

/// A split in parts, and one that went on alone from the same state, whose secrets are the same.
class PartedSplit {
public:
    explicit PartedSplit(std::size_t parts) : parts_(parts) { model_.write(folder_ / "model"); }

    /// Begins with `part` of OUT "out", and leaves what that has drawn to OUT "alone" too.
    void begin(std::size_t part) {
        split("out", SplitPart{part, parts_}, [&](const slip::SplitProgress& now) {
            if (now.finished != 0) return;
            fs::copy(partial("out"), partial("alone"), fs::copy_options::recursive);
            fs::permissions(partial("alone"), fs::perms::owner_all);
        });
    }
    std::vector<std::string> run(const std::string& name, std::optional<SplitPart> part = {}) {
        return split(name, part, {});
    }
    fs::path partial(const std::string& name) const {
        return folder_ / ("." + name + ".slip-partial");
    }
    /// Every file of both artifacts.
    void expect_same_bytes() const {
        std::size_t files = 0;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / "alone")) {
            if (!entry.is_regular_file()) continue;
            const fs::path name = fs::relative(entry.path(), folder_ / "alone");
            EXPECT_EQ(read_file(folder_ / "out" / name), read_file(entry.path())) << name;
            ++files;
        }
        EXPECT_GE(files, 6u);
    }

private:
    std::vector<std::string> split(const std::string& name, std::optional<SplitPart> part,
                                   std::function<void(const slip::SplitProgress&)> progress) {
        const importing::Checkpoint checkpoint(folder_ / "model");
        SplitOptions options{small_plan, folder_ / name, std::move(progress), Strategy::random};
        options.part = part;
        return splitting::split_checkpoint(checkpoint, model_.groups, options);
    }

    const std::size_t parts_;
    const UnwrittenCheckpoint model_;
    const TemporaryFolder folder_;
};

TEST(Parts, DECO_11_parts_in_any_order_make_the_bytes_of_one_split) {
    PartedSplit split(3);
    split.begin(3);
    split.run("out", SplitPart{1, 3});
    split.run("out", SplitPart{2, 3});
    EXPECT_EQ(split.run("out").size(), 1u) << "only the note on the tied head";
    split.run("alone");
    split.expect_same_bytes();
    EXPECT_FALSE(fs::exists(split.partial("out")));
}

TEST(Parts, DECO_11_a_part_that_is_made_twice_changes_nothing) {
    PartedSplit split(2);
    split.begin(1);
    const std::string before = read_file(split.partial("out") / "groups.txt");
    split.run("out", SplitPart{1, 2});
    EXPECT_EQ(read_file(split.partial("out") / "groups.txt"), before);
    split.run("out", SplitPart{2, 2});
    split.run("out");
    split.run("alone");
    split.expect_same_bytes();
}

TEST(Parts, DECO_11_what_a_part_has_not_finished_is_named_and_made) {
    PartedSplit split(3);
    split.begin(1);
    split.run("out", SplitPart{3, 3});
    const std::vector<std::string> notes = split.run("out");
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_TRUE(notes[0].starts_with("part 2 of 3 was not finished; ")) << notes[0];
    split.run("alone");
    split.expect_same_bytes();
}

TEST(Parts, DECO_11_another_number_of_parts_is_refused) {
    PartedSplit split(3);
    split.begin(2);
    expect_refused([&] { split.run("out", SplitPart{1, 4}); }, "in 3 parts, not in 4");
    expect_refused([&] { split.run("none", SplitPart{1, 99}); }, "part 1 of 99");
    expect_refused([&] { split.run("none", SplitPart{0, 2}); }, "part 0 of 2");
    EXPECT_FALSE(fs::exists(split.partial("none")));
}

}  // namespace
}  // namespace slip::testing
