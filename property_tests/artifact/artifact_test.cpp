// The two halves on disk (MODEL-7): what splitting writes, what the loaders accept, and everything
// that they must refuse.
#include "optimized/artifact/artifact.hpp"
#include "optimized/split/split_checkpoint.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/graph/language_model.hpp"
#include "optimized/split/decomposition.hpp"
#include "property_tests/generators/temporary_directory.hpp"

namespace {

using nlohmann::json;
using slip::BadInput;
using slip::CharlieArtifact;
using slip::Checkpoint;
using slip::DavidArtifact;
using slip::DType;
using slip::GroupShape;
using slip::Profile;
using slip::Tensor;
using slip::testing::TemporaryDirectory;

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const BadInput& error) {
        return error.what();
    }
    return "accepted";
}

void expect_refused(const std::function<void()>& action, const std::string& because) {
    const std::string message = refusal(action);
    EXPECT_NE(message.find(because), std::string::npos) << message;
}

// --- a small checkpoint
// --------------------------------------------------------------------------

/// The matrices of two blocks and a head. The importer's configuration is a LLaMA's, but
/// splitting looks at nothing in it except whether the head is tied.
std::vector<GroupShape> groups_of(bool tied) {
    std::vector<GroupShape> groups;
    for (std::size_t block = 0; block < 2; ++block) {
        const std::string prefix = "model.layers." + std::to_string(block) + ".";
        groups.push_back({8,
                          {{prefix + "q_proj", "q_proj", block, 8},
                           {prefix + "k_proj", "k_proj", block, 4},
                           {prefix + "v_proj", "v_proj", block, 5}}});
        groups.push_back({12, {{prefix + "down_proj", "down_proj", block, 8}}});
    }
    groups.push_back({8, {{tied ? "model.embed_tokens" : "lm_head", "lm_head", std::nullopt, 16}}});
    return groups;
}

/// A checkpoint directory under construction; a test may spoil it before it is written.
struct Model {
    explicit Model(bool tied_head = true) : tied(tied_head), groups(groups_of(tied_head)) {
        std::mt19937_64 random(7);
        std::normal_distribution<float> normal(0.0f, 0.1f);
        const auto add = [&](const std::string& name, std::vector<std::size_t> shape) {
            std::size_t elements = 1;
            for (const std::size_t extent : shape) elements *= extent;
            for (std::size_t i = 0; i < elements; ++i) values[name].push_back(normal(random));
            shapes[name] = shape;
        };
        add("model.embed_tokens.weight", {16, 8});
        add("model.norm.weight", {8});
        for (const GroupShape& group : groups) {
            for (const slip::MemberShape& member : group.members) {
                const std::string name = member.tensor + ".weight";
                if (values.count(name) == 0) add(name, {member.m, group.n});
            }
        }
    }

    /// Also writes a parameter in a 16-bit type with an odd number of elements.
    void write(const std::filesystem::path& directory) const {
        std::filesystem::create_directory(directory);
        const json config = {{"model_type", "llama"},      {"hidden_size", 8},
                             {"intermediate_size", 12},    {"num_hidden_layers", 2},
                             {"num_attention_heads", 2},   {"vocab_size", 16},
                             {"rms_norm_eps", 1e-5},       {"max_position_embeddings", 32},
                             {"tie_word_embeddings", tied}};
        slip::write_file(directory / "config.json", config.dump(), 0600);
        slip::write_file(directory / "tokenizer.model", "pieces", 0600);
        const std::vector<std::uint16_t> halves = {1, 2, 3};
        std::vector<Tensor> tensors;
        for (const auto& [name, elements] : values) {
            tensors.push_back(
                {name, DType::f32, shapes.at(name), std::as_bytes(std::span(elements))});
        }
        tensors.push_back({"model.extra.half", DType::f16, {3}, std::as_bytes(std::span(halves))});
        slip::write_safetensors(directory / "model.safetensors", tensors, {}, 0600);
    }

    bool tied;
    std::vector<GroupShape> groups;
    std::map<std::string, std::vector<float>> values;
    std::map<std::string, std::vector<std::size_t>> shapes;
};

const slip::Plan small_plan = {{0, "q_proj", 3}, {1, "down_proj", 2}, {std::nullopt, "lm_head", 1}};

/// A directory with a checkpoint in "model" and its halves in "out".
class SplitModel {
public:
    explicit SplitModel(const Model& model = Model(), const slip::Plan& plan = small_plan,
                        Profile profile = Profile::p31)
        : model_(model), profile_(profile) {
        model.write(directory_ / "model");
        split(plan, "out");
    }
    std::vector<std::string> split(const slip::Plan& plan, const std::string& name) {
        const Checkpoint checkpoint(directory_ / "model");
        return slip::split_checkpoint(checkpoint, model_.groups,
                                      {plan, directory_ / name, profile_});
    }

    std::filesystem::path out() const { return directory_ / "out"; }
    std::filesystem::path david() const { return out() / "david"; }
    std::filesystem::path charlie() const { return out() / "charlie"; }
    const TemporaryDirectory& directory() const { return directory_; }

    /// Rewrites a file.
    static void replace(const std::filesystem::path& path, const std::string& contents) {
        std::filesystem::remove(path);
        slip::write_file(path, contents, 0600);
    }
    /// Rewrites a JSON file after a change.
    static void edit(const std::filesystem::path& path, const std::function<void(json&)>& change) {
        json value = json::parse(slip::read_file(path));
        change(value);
        replace(path, value.dump());
        refresh_digests(path.parent_path());
    }
    /// Makes a changed folder of Charlie's consistent again.
    static void refresh_digests(const std::filesystem::path& folder) {
        if (std::filesystem::remove(folder / slip::layout::digests)) {
            slip::write_digests(folder, 0600);
        }
    }
    /// Replaces David's weights, his manifest's digest, and Charlie's record of it.
    void replace_weights(const std::string& contents) const {
        replace(david() / "david.safetensors", contents);
        const auto digest =
            slip::layout::to_hex(slip::layout::sha256(std::as_bytes(std::span(contents))));
        edit(david() / "manifest.json", [&](json& value) { value["sha256"] = digest; });
        edit(charlie() / "plan.json", [&](json& value) { value["david_sha256"] = digest; });
    }

private:
    const Model model_;
    const Profile profile_;
    TemporaryDirectory directory_;
};

mode_t permissions_of(const std::filesystem::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
}

std::set<std::string> names_in(const std::filesystem::path& directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

// --- what is written
// -----------------------------------------------------------------------------

TEST(Split, MODEL_7_round_trip_of_every_integer) {
    for (const bool tied : {true, false}) {
        const Model model(tied);
        const SplitModel split(model);
        const CharlieArtifact charlie(split.out());
        const DavidArtifact david(split.david());
        EXPECT_NO_THROW(slip::require_same_split(charlie, david));
        EXPECT_EQ(charlie.plan(), small_plan);
        EXPECT_EQ(charlie.config().vocab_size, 16u);
        EXPECT_EQ(slip::read_file(charlie.directory() / "tokenizer.model"), "pieces");
        std::vector<std::string> notes;
        const auto ranks = slip::ranks_of(small_plan, model.groups, slip::Strategy::lsc, notes);

        ASSERT_EQ(charlie.groups().size(), model.groups.size());
        for (std::size_t g = 0; g < model.groups.size(); ++g) {
            const GroupShape& group = model.groups[g];
            const slip::CharlieGroup& kept = charlie.groups()[g];
            const auto offloaded = david.weights()[g];
            EXPECT_EQ(kept.n, group.n);
            EXPECT_EQ(offloaded.rows(), group.product().rows);
            std::size_t row = 0;
            std::uint64_t norm = 0;
            for (std::size_t i = 0; i < group.members.size(); ++i) {
                const slip::MemberShape& shape = group.members[i];
                const slip::CharlieMember& member = kept.members[i];
                const auto& weights = model.values.at(shape.tensor + ".weight");
                const slip::IntegerMatrix expected =
                    slip::decompose({weights.data(), shape.m, group.n}, ranks[g][i], "w");
                EXPECT_EQ(member.shape.tensor, shape.tensor);
                EXPECT_EQ(member.shape.layer_type, shape.layer_type);
                EXPECT_EQ(member.shape.block, shape.block);
                EXPECT_EQ(member.rank, ranks[g][i]);
                const auto a = member.a.elements();
                const auto b = member.b.elements();
                const auto rows = offloaded.rows_from(row, shape.m).elements();
                EXPECT_TRUE(std::equal(a.begin(), a.end(), expected.a.begin(), expected.a.end()));
                EXPECT_TRUE(std::equal(b.begin(), b.end(), expected.b.begin(), expected.b.end()));
                EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.residual.begin(),
                                       expected.residual.end()));
                EXPECT_TRUE(std::equal(member.row_scale.begin(), member.row_scale.end(),
                                       expected.row_scale.begin(), expected.row_scale.end()));
                row += shape.m;
                norm = std::max(norm, slip::largest_row_norm(expected));
            }
            EXPECT_EQ(kept.qa_max, slip::largest_activation(Profile::p31, norm)) << "ENC-3";
        }
    }
}

TEST(Split, MODEL_7_parameters_stay_with_charlie_unchanged) {
    for (const bool tied : {true, false}) {
        const Model model(tied);
        const SplitModel split(model);
        const CharlieArtifact charlie(split.out());
        const slip::SafetensorsFile& kept = charlie.parameters();
        for (const char* name : {"model.norm.weight", "model.embed_tokens.weight"}) {
            EXPECT_EQ(slip::to_floats(kept.tensor(name)), model.values.at(name));
        }
        EXPECT_EQ(kept.tensor("model.extra.half").dtype, DType::f16);
        EXPECT_EQ(kept.tensor("model.extra.half").bytes[4], std::byte{3});
        for (const GroupShape& group : model.groups) {
            for (const slip::MemberShape& member : group.members) {
                if (member.tensor == "model.embed_tokens") continue;
                EXPECT_FALSE(kept.contains(member.tensor + ".weight")) << "offloaded weights";
            }
        }
    }
}

TEST(Split, THREAT_2_MODEL_7_permissions) {
    const SplitModel split;
    EXPECT_EQ(permissions_of(split.charlie()), 0700u);
    const std::set<std::string> expected = {"plan.json", "SHA256SUMS", "charlie.safetensors",
                                            "config.json", "tokenizer.model"};
    EXPECT_EQ(names_in(split.charlie()), expected);
    for (const std::string& name : expected) {
        EXPECT_EQ(permissions_of(split.charlie() / name), 0600u) << name;
    }
}

TEST(Split, MODEL_7_davids_folder_tells_nothing_of_charlies) {
    SplitModel split;
    EXPECT_EQ(names_in(split.david()),
              (std::set<std::string>{"manifest.json", "david.safetensors"}));
    const json manifest = json::parse(slip::read_file(split.david() / "manifest.json"));
    json shapes = json::array();
    for (const GroupShape& group : groups_of(true)) {
        shapes.push_back({{"rows", group.product().rows}, {"cols", group.n}});
    }
    const std::string weights = slip::read_file(split.david() / "david.safetensors");
    const auto digest =
        slip::layout::to_hex(slip::layout::sha256(std::as_bytes(std::span(weights))));
    EXPECT_EQ(manifest, (json{{"format", "slip-david"},
                              {"version", 1},
                              {"profile", "P31"},
                              {"sha256", digest},
                              {"groups", shapes}}));

    // Another plan changes weights and digest, and not one byte more.
    split.split({}, "other");
    json other = json::parse(slip::read_file(split.directory() / "other/david/manifest.json"));
    EXPECT_NE(other["sha256"], manifest["sha256"]);
    other["sha256"] = manifest["sha256"];
    EXPECT_EQ(other, manifest);
    const auto header = [](const std::string& file) {
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof length);
        return file.substr(0, 8 + length);
    };
    EXPECT_EQ(header(weights),
              header(slip::read_file(split.directory() / "other/david/david.safetensors")));
}

TEST(Split, is_deterministic) {
    SplitModel split;
    split.split(small_plan, "again");
    for (const char* name : {"charlie/plan.json", "charlie/charlie.safetensors",
                             "david/manifest.json", "david/david.safetensors"}) {
        EXPECT_EQ(slip::read_file(split.out() / name),
                  slip::read_file(split.directory() / "again" / name))
            << name;
    }
}

TEST(Split, DECO_2_notes_and_progress) {
    const TemporaryDirectory directory;
    const Model model;
    model.write(directory / "model");
    const Checkpoint checkpoint(directory / "model");
    std::vector<std::string> seen;
    const auto progress = [&](const slip::SplitProgress& now) {
        EXPECT_EQ(now.finished, seen.size());
        EXPECT_EQ(now.matrices, 9u);
        EXPECT_EQ(now.skipped, 0u);
        EXPECT_EQ(now.finished_weights == now.weights, now.finished == 9);
        seen.push_back(now.name);
    };
    const auto notes = slip::split_checkpoint(
        checkpoint, model.groups,
        {{{0, "k_proj", 100}}, directory / "out", slip::Profile::p31, progress});
    EXPECT_EQ(seen.size(), 10u);
    EXPECT_EQ(seen.back(), "model.embed_tokens");
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_NE(notes[0].find("cut to 3"), std::string::npos);
    EXPECT_NE(notes[1].find("David holds the quantised embedding"), std::string::npos);
    // The plan is kept as it was given; the ranks are what came of it.
    const CharlieArtifact charlie(directory / "out");
    EXPECT_EQ(charlie.plan(), (slip::Plan{{0, "k_proj", 100}}));
    EXPECT_EQ(charlie.groups()[0].members[1].rank, 3u);
}

// --- nothing half-written stays
// ------------------------------------------------------------------

/// Splitting `model` fails for this reason and leaves the directory as it was.
void expect_nothing_left(const Model& model, const slip::Plan& plan, const std::string& because) {
    const TemporaryDirectory directory;
    model.write(directory / "model");
    const Checkpoint checkpoint(directory / "model");
    expect_refused(
        [&] {
            slip::split_checkpoint(checkpoint, model.groups, {plan, directory / "out", {}});
        },
        because);
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"model"});
}

TEST(Split, DECO_5_a_matrix_that_is_not_finite_leaves_nothing) {
    Model model;
    model.values.at("model.layers.1.down_proj.weight")[5] = std::numeric_limits<float>::quiet_NaN();
    expect_nothing_left(model, small_plan, "model.layers.1.down_proj.weight");
}

TEST(Split, a_missing_or_misshapen_matrix_leaves_nothing) {
    Model missing;
    missing.values.erase("model.layers.1.k_proj.weight");
    expect_nothing_left(missing, small_plan, "no tensor model.layers.1.k_proj.weight");
    Model transposed;
    transposed.shapes.at("model.layers.0.k_proj.weight") = {8, 4};
    expect_nothing_left(transposed, small_plan, "must be 4 x 8");
}

TEST(Split, DECO_6_a_plan_that_does_not_fit_leaves_nothing) {
    expect_nothing_left(Model(), {{5, "q_proj", 1}}, "[5, \"q_proj\"]");
}

/// A row so long that P31 has fewer than 127 steps left for its activations.
TEST(Split, ENC_3_a_group_that_is_too_wide_is_refused) {
    Model model;
    const std::size_t n = 66'600;  // 66,600 * 127 * 127 > 2^30
    model.groups = {{n, {{"model.wide", "wide", 0, 1}}}};
    model.values["model.wide.weight"].assign(n, 0.5f);
    model.shapes["model.wide.weight"] = {1, n};
    expect_nothing_left(model, {}, "at least 127");
}

TEST(Split, PARAM_3_more_than_2_to_20_rows_are_refused) {
    Model model;
    const std::size_t m = (1 << 20) + 1;
    model.groups = {{1, {{"model.tall", "tall", 0, m}}}};
    model.values["model.tall.weight"].assign(m, 0.5f);
    model.shapes["model.tall.weight"] = {m, 1};
    expect_nothing_left(model, {}, "2^20");
}

TEST(Split, an_existing_target_is_kept) {
    SplitModel split;
    const std::string before = slip::read_file(split.charlie() / "plan.json");
    expect_refused([&] { split.split({}, "out"); }, "exists already");
    EXPECT_EQ(slip::read_file(split.charlie() / "plan.json"), before);
}

TEST(Split, a_split_that_throws_leaves_nothing) {
    const TemporaryDirectory directory;
    const Model model;
    model.write(directory / "model");
    const Checkpoint checkpoint(directory / "model");
    const auto interrupt = [](const slip::SplitProgress& now) {
        if (now.finished == 5) throw std::runtime_error("interrupted");
    };
    EXPECT_THROW(
        slip::split_checkpoint(checkpoint, model.groups,
                               {small_plan, directory / "out", slip::Profile::p31, interrupt}),
        std::runtime_error);
    EXPECT_EQ(names_in(directory.path()), std::set<std::string>{"model"});
}

// --- what David's loader refuses
// -----------------------------------------------------------------

TEST(DavidLoads, MODEL_7_any_tampered_byte_is_refused) {
    const SplitModel split;
    const std::string good = slip::read_file(split.david() / "david.safetensors");
    for (std::size_t position = 0; position < good.size(); position += 7) {
        std::string bad = good;
        bad[position] = static_cast<char>(bad[position] ^ 1);
        SplitModel::replace(split.david() / "david.safetensors", bad);
        EXPECT_NE(refusal([&] { DavidArtifact{split.david()}; }), "accepted") << position;
    }
    SplitModel::replace(split.david() / "david.safetensors", good + "x");
    EXPECT_NE(refusal([&] { DavidArtifact{split.david()}; }), "accepted");
    SplitModel::replace(split.david() / "david.safetensors", good);
    EXPECT_EQ(refusal([&] { DavidArtifact{split.david()}; }), "accepted");
}

TEST(DavidLoads, PARAM_4_MODEL_7_any_other_manifest_is_refused) {
    const SplitModel split;
    const auto path = split.david() / "manifest.json";
    const std::string good = slip::read_file(path);
    const std::vector<std::pair<std::function<void(json&)>, std::string>> cases = {
        {[](json& m) { m["version"] = 2; }, "\"version\": expected 1"},
        {[](json& m) { m["version"] = "1"; }, "\"version\""},
        {[](json& m) { m["format"] = "slip-charlie"; }, "\"format\""},
        {[](json& m) { m["profile"] = "P62"; }, "\"profile\""},
        {[](json& m) { m["sha256"] = std::string(64, '0'); }, "SHA-256"},
        {[](json& m) { m["sha256"] = "00"; }, "\"sha256\""},
        {[](json& m) { m["sha256"] = std::string(64, 'G'); }, "\"sha256\""},
        {[](json& m) { m["rank"] = 3; }, "\"rank\" is unknown"},
        {[](json& m) { m.erase("groups"); }, "\"groups\" is missing"},
        {[](json& m) { m["groups"].erase(0); }, "other tensors"},
        {[](json& m) { m["groups"] = json::array(); }, "\"groups\""},
        {[](json& m) { m["groups"][0]["rows"] = 18; }, "group.0"},
        {[](json& m) { m["groups"][0]["rows"] = 0; }, "\"rows\""},
        {[](json& m) { m["groups"][0]["rank"] = 3; }, "\"rank\" is unknown"},
        {[](json& m) { std::swap(m["groups"][0], m["groups"][1]); }, "group.0"},
    };
    for (const auto& [change, because] : cases) {
        SplitModel::edit(path, change);
        expect_refused([&] { DavidArtifact{split.david()}; }, because);
        SplitModel::replace(path, good);
    }
}

TEST(DavidLoads, PARAM_2_a_weight_of_minus_128_is_refused_even_with_the_right_digest) {
    const SplitModel split;
    std::string weights = slip::read_file(split.david() / "david.safetensors");
    weights.back() = static_cast<char>(-128);
    split.replace_weights(weights);
    expect_refused([&] { DavidArtifact{split.david()}; }, "-128");
}

TEST(DavidLoads, MODEL_7_a_folder_with_charlies_artifact_is_refused) {
    const SplitModel split;
    expect_refused([&] { DavidArtifact{split.out()}; }, "holds Charlie's artifact");
    expect_refused([&] { DavidArtifact{split.charlie()}; }, "holds Charlie's artifact");
    for (const char* name : {"plan.json", "charlie.safetensors"}) {
        std::filesystem::copy_file(split.charlie() / name, split.david() / name);
        expect_refused([&] { DavidArtifact{split.david()}; }, name);
        std::filesystem::remove(split.david() / name);
    }
    std::filesystem::copy(split.charlie(), split.david() / "charlie");
    expect_refused([&] { DavidArtifact{split.david()}; }, "charlie");
}

TEST(DavidLoads, CONV_4_missing_files_are_named) {
    const TemporaryDirectory directory;
    expect_refused([&] { DavidArtifact{directory.path()}; }, "david.safetensors");
    const SplitModel split;
    std::filesystem::remove(split.david() / "manifest.json");
    expect_refused([&] { DavidArtifact{split.david()}; }, "manifest.json");
}

/// The weights are the same in both profiles; how wide activations are, and what the two
/// descriptions say, is not.
TEST(Split, PARAM_1_MODEL_7_a_profile_is_in_both_descriptions_and_in_no_weight) {
    const SplitModel narrow;
    const SplitModel wide(Model(), small_plan, Profile::p61);
    const CharlieArtifact charlie(wide.out());
    const DavidArtifact david(wide.david());
    EXPECT_EQ(charlie.profile(), Profile::p61);
    EXPECT_EQ(david.profile(), Profile::p61);
    EXPECT_EQ(DavidArtifact(narrow.david()).profile(), Profile::p31);
    EXPECT_EQ(david.digest(), DavidArtifact(narrow.david()).digest());
    for (const slip::CharlieGroup& group : charlie.groups()) {
        EXPECT_EQ(group.qa_max, 32767) << "ENC-3";
    }
    EXPECT_EQ(refusal([&] { slip::require_same_split(charlie, david); }), "accepted");
    expect_refused([&] { slip::require_same_split(charlie, DavidArtifact(narrow.david())); },
                   "profiles");
}

// --- what Charlie's loader refuses
// ---------------------------------------------------------------

TEST(CharlieLoads, PARAM_4_MODEL_7_any_other_description_is_refused) {
    const SplitModel split;
    const auto path = split.charlie() / "plan.json";
    const std::string good = slip::read_file(path);
    const std::vector<std::pair<std::function<void(json&)>, std::string>> cases = {
        {[](json& d) { d["version"] = 0; }, "\"version\": expected 1"},
        {[](json& d) { d["format"] = "slip-david"; }, "\"format\""},
        {[](json& d) { d["profile"] = "p31"; }, "\"profile\""},
        {[](json& d) { d["attention"] = "both"; }, "\"attention\""},
        {[](json& d) { d.erase("attention"); }, "\"attention\" is missing"},
        {[](json& d) { d["strategy"] = "largest"; }, "\"strategy\""},
        {[](json& d) { d["strategy"] = "random"; }, "\"seed\" is missing"},
        {[](json& d) { d["seed"] = std::string(64, '0'); }, "\"seed\" is unknown"},
        {[](json& d) { d["t"] = 20; }, "\"t\": expected 16"},
        {[](json& d) { d["note"] = ""; }, "\"note\" is unknown"},
        {[](json& d) { d.erase("david_sha256"); }, "\"david_sha256\" is missing"},
        {[](json& d) { d["plan"][0][2] = 2; }, "not the one that its plan gives"},
        {[](json& d) { d["plan"].erase(0); }, "not the one that its plan gives"},
        {[](json& d) { d["plan"][0][0] = 9; }, "which the model does not have"},
        {[](json& d) { d["groups"] = json::array(); }, "\"groups\""},
        {[](json& d) { d["groups"][0]["qa_max"] = 126; }, "\"qa_max\""},
        {[](json& d) { d["groups"][0]["qa_max"] = 32768; }, "\"qa_max\""},
        {[](json& d) { d["groups"][0]["n"] = 9; }, "type and shape"},
        {[](json& d) { d["groups"][0]["members"] = json::array(); }, "\"members\""},
        {[](json& d) { d["groups"][0]["members"][0]["m"] = 9; }, "type and shape"},
        {[](json& d) { d["groups"][0]["members"][0]["rank"] = 8; }, "\"rank\""},
        {[](json& d) { d["groups"][0]["members"][0]["tensor"] = "x"; }, "no tensor x.A"},
        {[](json& d) { d["groups"][0]["members"][0]["block"] = "0"; }, "\"block\""},
        {[](json& d) { d["groups"][0]["members"][0].erase("block"); }, "\"block\" is missing"},
        {[](json& d) { d["groups"][0]["members"][0]["scale"] = 1; }, "\"scale\" is unknown"},
    };
    for (const auto& [change, because] : cases) {
        SplitModel::edit(path, change);
        expect_refused([&] { CharlieArtifact{split.out()}; }, because);
        SplitModel::replace(path, good);
    }
    SplitModel::refresh_digests(split.charlie());
    EXPECT_EQ(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
}

TEST(CharlieLoads, a_row_scale_that_is_no_positive_number_is_refused) {
    const SplitModel split;
    const auto path = split.charlie() / "charlie.safetensors";
    const std::string good = slip::read_file(path);
    const CharlieArtifact charlie(split.out());
    const auto* scale =
        reinterpret_cast<const char*>(charlie.groups()[0].members[0].row_scale.data());
    const auto* begin = reinterpret_cast<const char*>(charlie.parameters().bytes().data());
    for (const float bad : {0.0f, -1.0f, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
        std::string contents = good;
        std::memcpy(contents.data() + (scale - begin), &bad, sizeof bad);
        SplitModel::replace(path, contents);
        expect_refused([&] { CharlieArtifact{split.out()}; }, "positive numbers");
    }
}

TEST(CharlieLoads, PARAM_2_factors_of_more_than_12_bits_are_refused) {
    const SplitModel split;
    const auto path = split.charlie() / "charlie.safetensors";
    const std::string good = slip::read_file(path);
    const CharlieArtifact charlie(split.out());
    const auto& member = charlie.groups()[0].members[0];
    ASSERT_GE(member.rank, 1U);
    const auto* begin = reinterpret_cast<const char*>(charlie.parameters().bytes().data());
    const auto expect = [&](const void* place, const auto& entry, const std::string& because) {
        std::string contents = good;
        std::memcpy(contents.data() + (static_cast<const char*>(place) - begin), &entry,
                    sizeof entry);
        SplitModel::replace(path, contents);
        expect_refused([&] { CharlieArtifact{split.out()}; }, because);
    };
    for (const int bad : {2048, -2048, 32767, -32768}) {
        expect(member.b.data(), static_cast<std::int16_t>(bad), ".B must hold");
    }
    for (const std::int64_t bad :
         {std::int64_t{4095}, std::int64_t{-2049}, (std::int64_t{2047} << 20) + 1,
          std::int64_t{2048} << 20, -(std::int64_t{1} << 31)}) {
        expect(member.a.data(), static_cast<std::int32_t>(bad), ".A, row 0: expected integers");
    }
    // As large as they may be: then it is the digest that refuses them.
    expect(member.b.data(), std::int16_t{-2047}, "SHA256SUMS");
}

TEST(CharlieLoads, MODEL_7_any_changed_byte_of_any_file_is_refused) {
    const SplitModel split;
    std::size_t changed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(split.charlie())) {
        const std::string good = slip::read_file(entry.path());
        for (std::size_t position = 0; position < good.size(); position += 11) {
            std::string bad = good;
            bad[position] = static_cast<char>(bad[position] ^ (1 << (position % 8)));
            SplitModel::replace(entry.path(), bad);
            ASSERT_NE(refusal([&] { CharlieArtifact{split.out()}; }), "accepted")
                << entry.path() << " byte " << position;
        }
        SplitModel::replace(entry.path(), good + "\n");
        EXPECT_NE(refusal([&] { CharlieArtifact{split.out()}; }), "accepted") << entry.path();
        SplitModel::replace(entry.path(), good);
        ++changed;
    }
    EXPECT_EQ(changed, names_in(split.charlie()).size());
    EXPECT_EQ(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
}

TEST(CharlieLoads, MODEL_7_the_files_are_those_of_the_list) {
    const SplitModel split;
    slip::write_file(split.charlie() / "merges.txt", "x", 0600);
    expect_refused([&] { CharlieArtifact{split.out()}; }, "merges.txt: does not have");
    std::filesystem::remove(split.charlie() / "merges.txt");
    std::filesystem::remove(split.charlie() / slip::layout::digests);
    expect_refused([&] { CharlieArtifact{split.out()}; }, "SHA256SUMS");
}

TEST(CharlieLoads, MODEL_7_davids_folder_is_refused) {
    const SplitModel split;
    expect_refused([&] { CharlieArtifact{split.david()}; }, "charlie.safetensors");
    std::filesystem::remove_all(split.charlie());
    std::filesystem::copy(split.david(), split.charlie());
    EXPECT_NE(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
}

// --- both halves
// ---------------------------------------------------------------------------------

TEST(BothHalves, MODEL_7_of_different_splits_are_refused) {
    SplitModel split;
    split.split({}, "other");
    const CharlieArtifact charlie(split.out());
    const DavidArtifact david(split.directory() / "other/david");
    expect_refused([&] { slip::require_same_split(charlie, david); }, "different splits");
}

TEST(BothHalves, ENC_4_activations_that_are_too_wide_are_refused) {
    // Long rows of equal weights, so that qa_max is below 32767.
    Model model;
    model.groups = {{1000, {{"model.wide", "wide", 0, 2}}}};
    model.values["model.wide.weight"].assign(2000, 0.5f);
    model.shapes["model.wide.weight"] = {2, 1000};
    const SplitModel split(model, {});
    const DavidArtifact david(split.david());
    EXPECT_EQ(CharlieArtifact(split.out()).groups()[0].qa_max, ((1 << 30) - 1) / 127'000);
    EXPECT_NO_THROW(slip::require_same_split(CharlieArtifact(split.out()), david));
    SplitModel::edit(split.charlie() / "plan.json",
                     [](json& d) { d["groups"][0]["qa_max"] = ((1 << 30) - 1) / 127'000 + 1; });
    const CharlieArtifact charlie(split.out());
    expect_refused([&] { slip::require_same_split(charlie, david); }, "too wide");
}

// --- a real model
// --------------------------------------------------------------------------------

/// Also with ranks as high as they go, when next to nothing is left for David.
TEST(Split, DECO_2_ENC_5_a_real_model_at_low_and_at_full_rank) {
    const std::filesystem::path stories =
        std::filesystem::path(SLIP_SHARED_DIR) / "data/models/stories260K";
    if (!std::filesystem::exists(stories)) {
        GTEST_SKIP() << "the shared model stories260K is not here";
    }
    const Checkpoint checkpoint(stories);
    const auto groups = slip::groups_of(checkpoint.config());
    for (const std::size_t rank : {std::size_t{4}, std::size_t{1000}}) {
        const TemporaryDirectory directory;
        const slip::Plan plan = slip::uniform_plan(groups, rank, std::nullopt);
        const auto notes =
            slip::split_checkpoint(checkpoint, groups, {plan, directory / "out", {}});
        EXPECT_EQ(notes.size(), rank == 4 ? 1u : 1u + 5 * 7);
        const CharlieArtifact charlie(directory / "out");
        const DavidArtifact david(directory / "out/david");
        EXPECT_NO_THROW(slip::require_same_split(charlie, david));
        EXPECT_EQ(charlie.groups().size(), 21u);
    }
}

}  // namespace
