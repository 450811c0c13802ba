// What `slip check` finds of an artifact: here the secret of the integrity check, which only both
// halves together can be compared with.
#include "optimized/api/examine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/files.hpp"
#include "optimized/import/safetensors.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/split.hpp"

namespace slip::testing {
namespace {

namespace layout = artifact::layout;

/// A split in a folder of its own.
class Split {
public:
    Split() {
        write_checkpoint(random_llama(5), folder_ / "model");
        SplitOptions options;
        options.plan = uniform_plan(folder_ / "model", 2);
        options.out = out();
        split_checkpoint(folder_ / "model", options);
    }
    std::filesystem::path out() const { return folder_ / "out"; }
    std::filesystem::path check_file() const { return out() / "charlie/check.safetensors"; }

    /// Changes the first byte of a tensor of the check to another residue, and the digest with it.
    void change(const std::string& tensor) const { change(tensor, check_file()); }
    void change(const std::string& tensor, const std::filesystem::path& path) const {
        std::string contents = base::read_file(path);
        std::size_t position = 0;
        {
            const importing::SafetensorsFile file(path);
            position =
                static_cast<std::size_t>(file.tensor(tensor).bytes.data() - file.bytes().data());
        }
        contents[position] = static_cast<char>(contents[position] == 0 ? 1 : 0);
        std::filesystem::remove(path);
        base::write_file(path, contents, 0600);
        std::filesystem::remove(out() / "charlie" / layout::digests);
        artifact::write_digests(out() / "charlie", 0600);
    }

private:
    TemporaryFolder folder_;
};

/// What is found of one level.
std::vector<std::string> texts(const std::filesystem::path& out, base::Finding::Level level) {
    base::Findings findings;
    api::examine_artifact(out, findings);
    std::vector<std::string> texts;
    for (const base::Finding& finding : findings.all()) {
        if (finding.level == level) texts.push_back(finding.text);
    }
    return texts;
}

std::vector<std::string> errors_of(const Split& split) {
    return texts(split.out(), base::Finding::Level::error);
}

TEST(Examine, INTEG_2_a_split_as_it_was_written_is_in_order) {
    const Split split;
    EXPECT_EQ(errors_of(split), std::vector<std::string>());
    const auto notes = texts(split.out(), base::Finding::Level::note);
    for (const char* half : {"charlie", "david"}) {
        EXPECT_EQ(std::count(notes.begin(), notes.end(),
                             (split.out() / half).string() + ": set paper-lattice"),
                  1);
    }
}

TEST(Examine, INTEG_2_another_companion_than_w_W_D_is_found_whatever_its_digest) {
    const Split split;
    split.change("group.3");
    const std::vector<std::string> errors = errors_of(split);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors.front().find(split.check_file().string() + ": tensor group.3: "), 0U)
        << errors.front();
}

/// Another seed gives other combinations, and another z, of every group.
TEST(Examine, INTEG_1_another_seed_is_found_whatever_its_digest) {
    const Split split;
    const importing::SafetensorsFile file(split.check_file());
    split.change(layout::check_seed);
    const std::size_t groups = (file.tensors().size() - 1) / 3;  // each has a hint's digests, too
    EXPECT_EQ(errors_of(split).size(), 2 * groups);
}

TEST(Examine, MODEL_7_a_changed_hint_is_found_whatever_the_digest_of_its_file) {
    const Split split;
    split.change("group.3", split.out() / "charlie" / layout::masks);
    const std::vector<std::string> errors = errors_of(split);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_NE(errors.front().find("masks.safetensors: tensor group.3, rows 0 to "),
              std::string::npos)
        << errors.front();
}

TEST(Examine, THREAT_2_a_check_secret_that_others_may_read_is_found) {
    const Split split;
    std::filesystem::permissions(split.out() / "charlie", std::filesystem::perms(0711));
    EXPECT_EQ(errors_of(split), std::vector<std::string>{});
    std::filesystem::permissions(split.check_file(), std::filesystem::perms(0644));
    const std::vector<std::string> errors = errors_of(split);
    ASSERT_EQ(errors.size(), 1U);  // and all else was looked at
    EXPECT_NE(errors.front().find("charlie: other users may read it"), std::string::npos);
}

TEST(Examine, progress_counts_what_is_read) {
    const Split split;
    std::size_t passed = 0;
    base::Findings findings;
    findings.on_progress([&](std::size_t bytes) { passed += bytes; });
    api::examine_artifact(split.out(), findings);
    const auto size_of = [&](const char* half, const char* file) {
        return std::filesystem::file_size(split.out() / half / file);
    };
    const std::size_t expected = size_of("charlie", layout::charlie_weights) +
                                 size_of("charlie", layout::masks) +
                                 2 * size_of("david", layout::david_weights);
    EXPECT_LE(passed, expected);
    EXPECT_GT(passed, expected - expected / 8);  // groups are counted as equal, rounded down
}

}  // namespace
}  // namespace slip::testing
