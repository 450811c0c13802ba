// A hidden split on disk: what it writes, what nothing of it may depend on, and what is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/sha256.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/slip.hpp"

namespace slip::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// A checkpoint, hidden as often as a test asks.
class Hidden {
public:
    explicit Hidden(const SyntheticModel& synthetic) : model_(folder_ / "model") {
        write_checkpoint(synthetic, model_);
        vocabulary = synthetic.config.vocab_size;
    }
    SplitOptions options(const std::string& name) const {
        SplitOptions options;
        options.out = folder_ / name;
        options.audit = folder_ / (name + ".audit");
        return options;
    }
    void split(const std::string& name) const { split_checkpoint(model_, options(name)); }
    fs::path at(const std::string& name) const { return folder_ / name; }
    const fs::path& model() const { return model_; }

    std::size_t vocabulary = 0;

private:
    TemporaryFolder folder_;
    fs::path model_;
};

/// A model of the LLaMA family with one block and `intermediate` inputs of down_proj.
SyntheticModel one_block(std::size_t intermediate) {
    const Draws any = draws_from(5);
    return draw_llama({[any, intermediate](std::size_t least, std::size_t most) {
                           if (most == 60) return intermediate;
                           return most == 3 ? std::size_t{1} : any.between(least, most);
                       },
                       any.weight});
}
SyntheticModel smallest() { return one_block(20); }

std::set<std::string> files_of(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        names.insert(fs::relative(entry.path(), folder).string() + " " +
                     (entry.is_directory() ? "" : std::to_string(entry.file_size())));
    }
    return names;
}

json without(json value, const std::set<std::string>& fields) {
    for (const std::string& field : fields) value.erase(field);
    return value;
}

json json_of(const fs::path& path) { return json::parse(base::read_file(path)); }

TEST(HiddenSplit, MODEL_7_what_is_written_is_read_and_runs) {
    const Hidden hidden(random_llama(5));
    hidden.split("out");
    const artifact::CharlieArtifact charlie(hidden.at("out"));
    const artifact::DavidArtifact david(hidden.at("out") / "david");
    artifact::require_same_split(charlie, david);
    EXPECT_EQ(charlie.set().name, "hidden");
    EXPECT_EQ(david.set().name, "hidden");
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const auto& group = charlie.groups()[g];
        EXPECT_EQ(group.activation_norm, base::hidden_width(group.n).norm);
        EXPECT_EQ(david.weights()[g].shape().rows, group.product().rows + 2304);
        EXPECT_EQ(charlie.hint(g).size(), group.product().rows * 12672);
    }
    for (const char* name : {"charlie/check.safetensors", "charlie/masks.safetensors",
                             "charlie/charlie.safetensors", "charlie/plan.json"}) {
        EXPECT_EQ(permissions_of(hidden.at("out") / name), 0600U) << name;
    }
    EXPECT_EQ(permissions_of(hidden.at("out.audit")), 0700U);
    EXPECT_EQ(permissions_of(hidden.at("out.audit") / "audit.safetensors"), 0600U);
    const json plan = json_of(hidden.at("out") / "charlie/plan.json");
    for (const char* name : {"strategy", "t", "plan", "seed"}) EXPECT_FALSE(plan.contains(name));
}

/// HIDE-6: the outputs, and whatever of the files and manifests is not itself hidden or random.
TEST(HiddenSplit, HIDE_6_outputs_manifests_and_sizes_do_not_depend_on_what_hides) {
    const Hidden hidden(smallest());
    const auto ids = random_ids(3, 4, hidden.vocabulary);
    std::vector<std::uint32_t> logits;
    std::set<std::string> files, matrices;
    json manifest, plan;
    // A sanitizer takes ten times as long.
    const std::size_t seeds = sanitized() ? 2 : std::getenv("SLIP_FULL") != nullptr ? 100 : 25;
    for (std::size_t i = 0; i < seeds; ++i) {
        hidden.split("out");
        const fs::path out = hidden.at("out");
        auto charlie = open_charlie_in_process<LanguageModel>(out);
        const auto own = bits_of(charlie.forward(ids));
        const json own_manifest = without(json_of(out / "david/manifest.json"), {"sha256", "seed"});
        const json own_plan = without(json_of(out / "charlie/plan.json"), {"david_sha256"});
        if (i == 0) {
            auto unsplit = open_unsplit<LanguageModel>(out, hidden.at("out.audit"));
            logits = bits_of(unsplit.forward(ids));
            files = files_of(out);
            manifest = own_manifest;
            plan = own_plan;
        }
        EXPECT_EQ(own, logits);
        EXPECT_EQ(files_of(out), files);
        EXPECT_EQ(own_manifest, manifest);
        EXPECT_EQ(own_plan, plan);
        matrices.insert(base::read_file(out / "david/david.safetensors"));
        fs::remove_all(out);
        fs::remove_all(hidden.at("out.audit"));
    }
    EXPECT_EQ(matrices.size(), seeds) << "A is another one every time";
}

/// HIDE-7: the input of down_proj is wider than a matrix may be.
TEST(HiddenSplit, HIDE_7_wide_matrices_are_split_into_parts) {
    if (sanitized()) GTEST_SKIP() << "a sanitizer takes ten times as long";
    const Hidden hidden(one_block(6145));
    hidden.split("out");
    const artifact::CharlieArtifact charlie(hidden.at("out"));
    std::vector<std::size_t> parts;
    for (const auto& group : charlie.groups()) {
        if (group.width == 0) continue;
        EXPECT_EQ(group.width, 6145U);
        EXPECT_EQ(group.first_column, parts.size() % 2 == 0 ? 0U : 3072U);
        parts.push_back(group.n);
    }
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(parts.front(), 3072U);
    EXPECT_EQ(parts.back(), 3073U);
    const auto ids = random_ids(3, 3, hidden.vocabulary);
    auto unsplit = open_unsplit<LanguageModel>(hidden.at("out"), hidden.at("out.audit"));
    auto hybrid = open_charlie_in_process<LanguageModel>(hidden.at("out"));
    const auto logits = hybrid.forward(ids);
    EXPECT_EQ(bits_of(logits), bits_of(unsplit.forward(ids)));
    auto in_float = open_checkpoint<LanguageModel>(hidden.model());
    const auto expected = in_float.forward(ids);
    double error = 0, size = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        error += std::pow(double{logits[i]} - double{expected[i]}, 2);
        size += std::pow(double{expected[i]}, 2);
    }
    EXPECT_LT(std::sqrt(error / size), 0.05) << "the parts add up to the matrix";
}

// ----------------------------------------------------------------------------------- what is
// refused

TEST(HiddenSplit, HIDE_1_what_belongs_to_the_papers_split_is_refused) {
    const Hidden hidden(smallest());
    SplitOptions options = hidden.options("out");
    options.set = "hidden";
    options.plan = uniform_plan(hidden.model(), 2);
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("no rank"),
              std::string::npos);
    options.plan.clear();
    options.strategy = Strategy::rcs;
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("no rank"),
              std::string::npos);
    options = hidden.options("out");
    options.accept_grid = true;
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("no accepted grid"),
              std::string::npos);
    options = hidden.options("out");
    options.seed.emplace();
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("no seed"),
              std::string::npos);
    options = hidden.options("out");
    options.set = "paper-lattice";
    options.plan = uniform_plan(hidden.model(), 2);
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("no audit"),
              std::string::npos);
    options = hidden.options("out");
    fs::create_directory(options.audit);
    EXPECT_NE(refusal([&] { split_checkpoint(hidden.model(), options); }).find("exists already"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(options.out));
}

TEST(HiddenSplit, HIDE_8_the_integer_model_is_of_one_split) {
    const Hidden hidden(smallest());
    hidden.split("one");
    hidden.split("other");
    const std::string missing =
        refusal([&] { static_cast<void>(open_unsplit<LanguageModel>(hidden.at("one"))); });
    EXPECT_NE(missing.find("--audit"), std::string::npos) << missing;
    const std::string other = refusal([&] {
        static_cast<void>(open_unsplit<LanguageModel>(hidden.at("one"), hidden.at("other.audit")));
    });
    EXPECT_NE(other.find("is of another split"), std::string::npos) << other;
    const std::string none = refusal([&] {
        static_cast<void>(open_unsplit<LanguageModel>(hidden.at("one"), hidden.at("none")));
    });
    EXPECT_NE(none.find("none"), std::string::npos) << none;
    SplitOptions options = hidden.options("paper");
    options.plan = uniform_plan(hidden.model(), 2);
    options.audit.clear();
    split_checkpoint(hidden.model(), options);
    const std::string needless = refusal([&] {
        static_cast<void>(open_unsplit<LanguageModel>(hidden.at("paper"), hidden.at("one.audit")));
    });
    EXPECT_NE(needless.find("expected no audit"), std::string::npos) << needless;
}

/// Rewrites a file that the folder's digests cover.
void rewrite(const fs::path& path, const std::string& contents) {
    fs::remove(path);
    base::write_file(path, contents, 0600);
    const fs::path sums = path.parent_path() / "SHA256SUMS";
    if (!fs::exists(sums)) return;
    fs::remove(sums);
    artifact::write_digests(path.parent_path(), 0600);
}

TEST(HiddenSplit, MODEL_7_descriptions_that_lie_are_refused) {
    const Hidden hidden(smallest());
    hidden.split("out");
    const fs::path plan = hidden.at("out") / "charlie/plan.json";
    const fs::path manifest = hidden.at("out") / "david/manifest.json";
    const json good_plan = json_of(plan), good_manifest = json_of(manifest);
    const auto charlie_refuses = [&](const std::function<void(json&)>& change,
                                     const std::string& because) {
        json changed = good_plan;
        change(changed);
        rewrite(plan, changed.dump());
        const std::string said = refusal([&] { artifact::CharlieArtifact{hidden.at("out")}; });
        EXPECT_NE(said.find(because), std::string::npos) << said;
    };
    charlie_refuses([](json& d) { d["t"] = 16; }, "\"t\" is unknown");
    charlie_refuses([](json& d) { d["plan"] = json::array(); }, "\"plan\" is unknown");
    charlie_refuses([](json& d) { d["groups"][0]["members"][0]["rank"] = 0; }, "\"rank\"");
    charlie_refuses([](json& d) { d["groups"][0]["activation_norm"] = 2416; }, "activation_norm");
    charlie_refuses([](json& d) { d["groups"][0]["n"] = 6145; }, "6144");
    charlie_refuses([](json& d) { d["groups"][0]["width"] = 1; }, "width");
    charlie_refuses([](json& d) { d["set"] = "paper-lattice"; }, "strategy");
    rewrite(plan, good_plan.dump());
    EXPECT_EQ(refusal([&] { artifact::CharlieArtifact{hidden.at("out")}; }), "accepted");
    const auto david_refuses = [&](const std::function<void(json&)>& change,
                                   const std::string& because) {
        json changed = good_manifest;
        change(changed);
        rewrite(manifest, changed.dump());
        const std::string said =
            refusal([&] { artifact::DavidArtifact{hidden.at("out") / "david"}; });
        EXPECT_NE(said.find(because), std::string::npos) << said;
    };
    david_refuses([](json& d) { d.erase("seed"); }, "\"seed\" is missing");
    david_refuses([](json& d) { d["seed"] = "00"; }, "seed");
    david_refuses([](json& d) { d["groups"][0]["cols"] = 6145; }, "6144");
    david_refuses([](json& d) { d["set"] = "paper"; }, "\"seed\" is unknown");
    rewrite(manifest, good_manifest.dump());
    EXPECT_EQ(refusal([&] { artifact::DavidArtifact{hidden.at("out") / "david"}; }), "accepted");
}

/// The first byte of the last plane of group 0, beyond half of 227, with the right digest.
TEST(HiddenSplit, MODEL_7_an_entry_beyond_half_of_its_prime_is_refused) {
    const Hidden hidden(smallest());
    hidden.split("out");
    const fs::path david = hidden.at("out") / "david";
    std::string contents = base::read_file(david / "david.safetensors");
    std::size_t at = 0;
    {
        const importing::SafetensorsFile file(david / "david.safetensors");
        const auto& tensor = file.tensor("group.0");
        at = static_cast<std::size_t>(tensor.bytes.data() - file.bytes().data()) +
             tensor.bytes.size() / 6 * 5;
    }
    json manifest = json_of(david / "manifest.json");
    const auto says = [&](int value) {
        contents[at] = static_cast<char>(value);
        manifest["sha256"] = artifact::to_hex(artifact::sha256(std::as_bytes(std::span(contents))));
        rewrite(david / "david.safetensors", contents);
        rewrite(david / "manifest.json", manifest.dump());
        return refusal([&] { artifact::DavidArtifact{david}; });
    };
    EXPECT_EQ(says(113), "accepted");
    EXPECT_EQ(says(-113), "accepted");
    for (const int value : {114, -114, 127, -128}) {
        EXPECT_NE(says(value).find("group.0, plane 5: expected integers of magnitude at most 113"),
                  std::string::npos)
            << value;
    }
}

TEST(HiddenSplit, DECO_11_a_killed_split_goes_on_with_the_same_secret) {
    const Hidden hidden(smallest());
    SplitOptions options = hidden.options("whole");
    const fs::path partial = hidden.at(".out.slip-partial");
    options.progress = [&](const SplitProgress& now) {
        if (now.finished != 4) return;
        fs::copy(hidden.at(".whole.slip-partial"), partial, fs::copy_options::recursive);
    };
    split_checkpoint(hidden.model(), options);
    for (const bool damaged : {false, true}) {
        const fs::path copy = hidden.at("copy");
        fs::copy(partial, copy, fs::copy_options::recursive);
        if (damaged) {
            std::fstream file(partial / "out/david/david.safetensors",
                              std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(4000);
            file.put('\x01');
        }
        fs::permissions(partial, fs::perms::owner_all);
        const auto notes = split_checkpoint(hidden.model(), hidden.options("out"));
        EXPECT_EQ(notes.size(), damaged ? 1U : 0U);
        for (const char* name :
             {"charlie/plan.json", "charlie/check.safetensors", "charlie/masks.safetensors",
              "charlie/SHA256SUMS", "david/manifest.json", "david/david.safetensors"}) {
            EXPECT_EQ(base::read_file(hidden.at("out") / name),
                      base::read_file(hidden.at("whole") / name))
                << name;
        }
        fs::remove_all(hidden.at("out"));
        fs::remove_all(hidden.at("out.audit"));
        fs::rename(copy, partial);
    }
}

}  // namespace
}  // namespace slip::testing
