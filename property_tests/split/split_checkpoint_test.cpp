// What splitting a checkpoint writes (MODEL-7), and that a split that fails leaves nothing.
#include "optimized/split/split_checkpoint.hpp"
#include "optimized/artifact/sha256.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/graph/transformer.hpp"
#include "optimized/secrets/draw_check.hpp"
#include "optimized/split/decomposition.hpp"
#include "property_tests/artifact/split_model.hpp"

namespace slip::testing {
namespace {

using namespace artifact;
using namespace base;
using namespace importing;
using namespace splitting;
namespace fs = std::filesystem;

TEST(Split, MODEL_7_round_trip_of_every_integer) {
    for (const bool tied : {true, false}) {
        const UnwrittenCheckpoint model(tied);
        const SplitModel split(model);
        const CharlieArtifact charlie(split.out());
        const DavidArtifact david(split.david());
        EXPECT_NO_THROW(require_same_split(charlie, david));
        EXPECT_EQ(charlie.plan(), small_plan);
        EXPECT_EQ(charlie.config().vocab_size, 16u);
        EXPECT_EQ(read_file(charlie.folder() / "tokenizer.model"), "pieces");
        std::vector<std::string> notes;
        const auto ranks = ranks_of(small_plan, model.groups, slip::Strategy::lsc, notes);

        ASSERT_EQ(charlie.groups().size(), model.groups.size());
        for (std::size_t g = 0; g < model.groups.size(); ++g) {
            const GroupShape& group = model.groups[g];
            const CharlieGroup& kept = charlie.groups()[g];
            const auto offloaded = david.weights()[g];
            EXPECT_EQ(kept.n, group.n);
            EXPECT_EQ(offloaded.rows(), group.product().rows);
            std::size_t row = 0;
            std::uint64_t norm = 0;
            for (std::size_t i = 0; i < group.members.size(); ++i) {
                const MemberShape& shape = group.members[i];
                const CharlieMember& member = kept.members[i];
                const auto& weights = model.values.at(shape.tensor + ".weight");
                const IntegerMatrix expected =
                    decompose({weights.data(), shape.m, group.n}, ranks[g][i], "w");
                EXPECT_EQ(member.shape.tensor, shape.tensor);
                EXPECT_EQ(member.shape.layer_type, shape.layer_type);
                EXPECT_EQ(member.shape.block, shape.block);
                EXPECT_EQ(member.rank, ranks[g][i]);
                const auto a = member.a.significands.elements();
                const auto e = member.a.exponents;
                const auto b = member.b.elements();
                const auto rows = offloaded.rows_from(row, shape.m).elements();
                EXPECT_TRUE(std::equal(a.begin(), a.end(), expected.a.begin(), expected.a.end()));
                EXPECT_TRUE(std::equal(e.begin(), e.end(), expected.exponent.begin(),
                                       expected.exponent.end()));
                EXPECT_TRUE(std::equal(b.begin(), b.end(), expected.b.begin(), expected.b.end()));
                EXPECT_TRUE(std::equal(rows.begin(), rows.end(), expected.residual.begin(),
                                       expected.residual.end()));
                EXPECT_TRUE(std::equal(member.row_scale.begin(), member.row_scale.end(),
                                       expected.row_scale.begin(), expected.row_scale.end()));
                row += shape.m;
                norm = std::max(norm, largest_norm({expected.residual.data(), shape.m, group.n}));
            }
            EXPECT_EQ(kept.activation_norm, activation_norm(norm, charlie.set().planes)) << "ENC-3";
        }
    }
}

/// Wherever it stands, the member with the widest rows decides for its group: a norm of 127 * 2^9.
TEST(Split, ENC_3_the_largest_row_norm_of_a_group_decides_its_activations) {
    constexpr std::size_t n = 1 << 18;
    for (std::size_t widest = 0; widest < 3; ++widest) {
        UnwrittenCheckpoint model;
        GroupShape& group = model.groups[0];
        group.n = n;
        for (std::size_t i = 0; i < 3; ++i) {
            const std::string name = group.members[i].tensor + ".weight";
            std::vector<float>& values = model.values[name];
            values.assign(group.members[i].m * n, 0.0F);
            for (std::size_t j = 0; j < values.size(); ++j) {
                if (i == widest || j % n == 0) values[j] = 1.0F;
            }
            model.shapes[name] = {group.members[i].m, n};
        }
        const SplitModel split(model, {});
        EXPECT_EQ(CharlieArtifact(split.out()).groups()[0].activation_norm,
                  1'684'281'158 / (127 * 512));
    }
}

TEST(Split, MODEL_7_parameters_stay_with_charlie_unchanged) {
    for (const bool tied : {true, false}) {
        const UnwrittenCheckpoint model(tied);
        const SplitModel split(model);
        const CharlieArtifact charlie(split.out());
        const SafetensorsFile& kept = charlie.parameters();
        for (const char* name : {"model.norm.weight", "model.embed_tokens.weight"}) {
            EXPECT_EQ(to_floats(kept.tensor(name)), model.values.at(name));
        }
        EXPECT_EQ(kept.tensor("model.extra.half").dtype, DType::f16);
        EXPECT_EQ(kept.tensor("model.extra.half").bytes[4], std::byte{3});
        for (const GroupShape& group : model.groups) {
            for (const MemberShape& member : group.members) {
                if (member.tensor == "model.embed_tokens") continue;
                EXPECT_FALSE(kept.contains(member.tensor + ".weight")) << "offloaded weights";
            }
        }
    }
}

TEST(Split, THREAT_2_MODEL_7_permissions) {
    const SplitModel split;
    EXPECT_EQ(permissions_of(split.charlie()), 0700u);
    const std::set<std::string> expected = {"plan.json",         "SHA256SUMS",
                                            "check.safetensors", "charlie.safetensors",
                                            "config.json",       "tokenizer.model"};
    EXPECT_EQ(names_in(split.charlie()), expected);
    for (const std::string& name : expected) {
        EXPECT_EQ(permissions_of(split.charlie() / name), 0600u) << name;
    }
}

TEST(Split, MODEL_7_davids_folder_tells_nothing_of_charlies) {
    SplitModel split;
    EXPECT_EQ(names_in(split.david()),
              (std::set<std::string>{"manifest.json", "david.safetensors"}));
    const json manifest = json::parse(read_file(split.david() / "manifest.json"));
    json shapes = json::array();
    for (const GroupShape& group : groups_of(true)) {
        shapes.push_back({{"rows", group.product().rows}, {"cols", group.n}});
    }
    const std::string weights = read_file(split.david() / "david.safetensors");
    const auto digest = artifact::to_hex(artifact::sha256(std::as_bytes(std::span(weights))));
    EXPECT_EQ(manifest, (json{{"format", "slip-david"},
                              {"version", 3},
                              {"set", "paper"},
                              {"sha256", digest},
                              {"groups", shapes}}));

    // Another plan changes weights and digest, and not one byte more.
    split.split({}, "other");
    json other = json::parse(read_file(split.folder() / "other/david/manifest.json"));
    EXPECT_NE(other["sha256"], manifest["sha256"]);
    other["sha256"] = manifest["sha256"];
    EXPECT_EQ(other, manifest);
    const auto header = [](const std::string& file) {
        std::uint64_t length = 0;
        std::memcpy(&length, file.data(), sizeof length);
        return file.substr(0, 8 + length);
    };
    EXPECT_EQ(header(weights), header(read_file(split.folder() / "other/david/david.safetensors")));
}

/// INTEG-2 by its definition, one term after the other.
std::vector<std::uint8_t> companion_by_definition(std::span<const std::uint8_t> w,
                                                  base::MatrixView<const std::int8_t> weights) {
    constexpr std::size_t planes = 4;
    const std::size_t m = weights.rows();
    std::vector<std::uint8_t> companion;
    for (std::size_t row = 0; row < parameters::kappa * planes; ++row) {
        const std::int64_t prime = parameters::primes[row % planes];
        for (std::size_t j = 0; j < weights.cols(); ++j) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < m; ++i) sum += w[row * m + i] * weights.row(i)[j];
            companion.push_back(static_cast<std::uint8_t>((sum % prime + prime) % prime));
        }
    }
    return companion;
}

TEST(Split, INTEG_1_INTEG_2_writes_the_combinations_of_every_group) {
    const SplitModel split;
    const CharlieArtifact charlie(split.out());
    const DavidArtifact david(split.david());
    const base::CheckSecret secret = charlie.check_secret();
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const auto weights = david.weights()[g];
        const auto w = secrets::draw_combinations(secret.seed, 4, weights.rows());
        const auto expected = companion_by_definition({w.data(), w.size()}, weights);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), secret.companions[g].begin(),
                               secret.companions[g].end()))
            << g;
    }
}

TEST(Split, INTEG_1_every_split_draws_its_own_seed) {
    SplitModel split;
    split.split(small_plan, "again");
    const CharlieArtifact one(split.out());
    const CharlieArtifact other(split.folder() / "again");
    const auto seed = one.check_secret().seed;
    const auto another = other.check_secret().seed;
    EXPECT_FALSE(std::equal(seed.begin(), seed.end(), another.begin()));
}

TEST(Split, PARAM_1_an_unknown_set_is_refused_with_the_known_ones) {
    const TemporaryFolder folder;
    const UnwrittenCheckpoint model;
    model.write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    SplitOptions options{small_plan, folder / "out"};
    options.set = "P31";
    expect_refused([&] { splitting::split_checkpoint(checkpoint, model.groups, options); },
                   "set 'P31': expected one of paper");
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"model"});
}

/// But for the secret of the check, which is drawn, and the digest of its file.
TEST(Split, is_deterministic) {
    SplitModel split;
    split.split(small_plan, "again");
    for (const char* name : {"charlie/plan.json", "charlie/charlie.safetensors",
                             "david/manifest.json", "david/david.safetensors"}) {
        EXPECT_EQ(read_file(split.out() / name), read_file(split.folder() / "again" / name))
            << name;
    }
}

TEST(Split, DECO_2_notes_and_progress) {
    const TemporaryFolder folder;
    const UnwrittenCheckpoint model;
    model.write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    std::vector<std::string> seen;
    const auto progress = [&](const slip::SplitProgress& now) {
        EXPECT_EQ(now.finished, seen.size());
        EXPECT_EQ(now.matrices, 9u);
        EXPECT_EQ(now.skipped, 0u);
        EXPECT_EQ(now.finished_weights == now.weights, now.finished == 9);
        seen.push_back(now.name);
    };
    const auto notes = splitting::split_checkpoint(
        checkpoint, model.groups, {{{0, "k_proj", 100}}, folder / "out", progress});
    EXPECT_EQ(seen.size(), 10u);
    EXPECT_EQ(seen.back(), "model.embed_tokens");
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_NE(notes[0].find("cut to 3"), std::string::npos);
    EXPECT_NE(notes[1].find("David holds the quantised embedding"), std::string::npos);
    // The plan is kept as it was given; the ranks are what came of it.
    const CharlieArtifact charlie(folder / "out");
    EXPECT_EQ(charlie.plan(), (slip::Plan{{0, "k_proj", 100}}));
    EXPECT_EQ(charlie.groups()[0].members[1].rank, 3u);
}

// --- nothing half-written stays

/// Splitting `model` fails for this reason and leaves the folder as it was.
void expect_nothing_left(const UnwrittenCheckpoint& model, const slip::Plan& plan,
                         const std::string& because) {
    const TemporaryFolder folder;
    model.write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    expect_refused(
        [&] {
            splitting::split_checkpoint(checkpoint, model.groups, {plan, folder / "out", {}});
        },
        because);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"model"});
}

TEST(Split, DECO_5_a_matrix_that_is_not_finite_leaves_nothing) {
    UnwrittenCheckpoint model;
    model.values.at("model.layers.1.down_proj.weight")[5] = std::numeric_limits<float>::quiet_NaN();
    expect_nothing_left(model, small_plan, "model.layers.1.down_proj.weight");
}

TEST(Split, a_missing_or_misshapen_matrix_leaves_nothing) {
    UnwrittenCheckpoint missing;
    missing.values.erase("model.layers.1.k_proj.weight");
    expect_nothing_left(missing, small_plan, "no tensor model.layers.1.k_proj.weight");
    UnwrittenCheckpoint transposed;
    transposed.shapes.at("model.layers.0.k_proj.weight") = {8, 4};
    expect_nothing_left(transposed, small_plan, "must be 4 x 8");
}

TEST(Split, DECO_6_a_plan_that_does_not_fit_leaves_nothing) {
    expect_nothing_left(UnwrittenCheckpoint(), {{5, "q_proj", 1}}, "[5, \"q_proj\"]");
}

/// Rows as long and as large as they may be leave room for activations in every set.
TEST(Split, ENC_3_PARAM_3_the_longest_row_is_split) {
    UnwrittenCheckpoint model;
    const std::size_t n = 1 << 20;
    model.groups = {{n, {{"model.wide", "wide", 0, 1}}}};
    model.values["model.wide.weight"].assign(n, 0.5f);
    model.shapes["model.wide.weight"] = {1, n};
    const SplitModel split(model, {});
    EXPECT_EQ(CharlieArtifact(split.out()).groups()[0].activation_norm, 12951);
}

TEST(Split, PARAM_3_more_than_2_to_20_rows_are_refused) {
    UnwrittenCheckpoint model;
    const std::size_t m = (1 << 20) + 1;
    model.groups = {{1, {{"model.tall", "tall", 0, m}}}};
    model.values["model.tall.weight"].assign(m, 0.5f);
    model.shapes["model.tall.weight"] = {m, 1};
    expect_nothing_left(model, {}, "model: model.tall: its group has more than 2^20");
}

TEST(Split, PARAM_3_more_than_2_to_16_groups_are_refused) {
    const TemporaryFolder folder;
    const UnwrittenCheckpoint model;
    model.write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    const std::vector<GroupShape> groups((1 << 16) + 1, model.groups.front());
    const std::string expected =
        (folder / "model").string() + ": has 65537 groups of matrices: expected at most 65536";
    expect_refused(
        [&] { splitting::sizes_of_split(checkpoint, groups, {}, layout::require_set("hidden")); },
        expected);
    slip::SplitOptions options;
    options.out = folder / "out";
    expect_refused([&] { splitting::split_checkpoint(checkpoint, groups, options); }, expected);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"model"});
}

TEST(Split, an_existing_target_is_kept) {
    SplitModel split;
    const std::string before = read_file(split.charlie() / "plan.json");
    expect_refused([&] { split.split({}, "out"); }, "exists already");
    EXPECT_EQ(read_file(split.charlie() / "plan.json"), before);
}

TEST(Split, a_split_that_throws_leaves_nothing) {
    const TemporaryFolder folder;
    const UnwrittenCheckpoint model;
    model.write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    const auto interrupt = [](const slip::SplitProgress& now) {
        if (now.finished == 5) throw std::runtime_error("interrupted");
    };
    EXPECT_THROW(splitting::split_checkpoint(checkpoint, model.groups,
                                             {small_plan, folder / "out", interrupt}),
                 std::runtime_error);
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>{"model"});
}

// --- a split that was killed

/// What a split would leave if it were killed after some groups, and the whole artifact.
class KilledSplit {
public:
    explicit KilledSplit(std::size_t matrices, Strategy strategy = Strategy::lsc)
        : strategy_(strategy) {
        model_.write(folder_ / "model");
        split("whole", [&](const slip::SplitProgress& now) {
            if (now.finished != matrices) return;
            fs::copy(folder_ / ".whole.slip-partial", partial(), fs::copy_options::recursive);
        });
        fs::permissions(partial(), fs::perms::owner_all);
    }
    std::vector<std::string> go_on() { return split("out", {}); }
    fs::path partial() const { return folder_ / ".out.slip-partial"; }

    /// Changes one byte of a file of the partial folder.
    void damage(const std::string& name, std::size_t position) const {
        std::fstream file(partial() / name, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(position));
        const int byte = file.get();
        file.seekp(static_cast<std::streamoff>(position));
        file.put(static_cast<char>(byte ^ 1));
        ASSERT_TRUE(file.good()) << name;
    }
    /// Where the tensors of a weight file begin, and where they end.
    std::pair<std::size_t, std::size_t> data_of(const std::string& name) const {
        const std::string file = read_file(partial() / name);
        std::uint64_t header = 0;
        std::memcpy(&header, file.data(), sizeof header);
        return {sizeof header + header, file.size()};
    }

    void expect_same_bytes() const {
        for (const char* name :
             {"charlie/plan.json", "charlie/charlie.safetensors", "charlie/check.safetensors",
              "charlie/SHA256SUMS", "david/manifest.json", "david/david.safetensors"}) {
            EXPECT_EQ(read_file(folder_ / "out" / name), read_file(folder_ / "whole" / name))
                << name;
        }
    }

private:
    std::vector<std::string> split(const std::string& name,
                                   std::function<void(const slip::SplitProgress&)> progress) {
        const Checkpoint checkpoint(folder_ / "model");
        return splitting::split_checkpoint(
            checkpoint, model_.groups,
            {small_plan, folder_ / name, std::move(progress), strategy_});
    }

    const Strategy strategy_;
    const UnwrittenCheckpoint model_;
    TemporaryFolder folder_;
};

TEST(KilledSplit, DECO_11_what_is_whole_is_kept) {
    KilledSplit killed(5);
    EXPECT_EQ(killed.go_on().size(), 1u) << "only the note on the tied head";
    killed.expect_same_bytes();
}

/// The files also hold what is not finished, and parameters, which are written again anyway.
TEST(KilledSplit, DECO_11_a_changed_byte_is_made_again) {
    for (const char* name : {"out/david/david.safetensors", "out/charlie/charlie.safetensors",
                             "out/charlie/check.safetensors"}) {
        std::size_t noticed = 0;
        const auto [begin, end] = KilledSplit(5).data_of(name);
        for (std::size_t position = begin; position < end; position += 97) {
            KilledSplit killed(5);
            killed.damage(name, position);
            for (const std::string& note : killed.go_on()) {
                noticed += note.find("model.layers.0.") != std::string::npos;
            }
            killed.expect_same_bytes();
        }
        EXPECT_GT(noticed, 0u) << name;
    }
}

TEST(KilledSplit, DECO_11_a_changed_line_is_made_again) {
    for (const std::size_t position : {3U, 4U, 5U, 40U, 70U, 71U + 4, 71U + 30}) {
        KilledSplit killed(5);
        killed.damage("groups.txt", position);
        killed.go_on();
        killed.expect_same_bytes();
    }
}

TEST(KilledSplit, DECO_11_a_changed_seed_is_refused) {
    for (const char* name : {"seed", "check_seed"}) {
        KilledSplit killed(5, Strategy::random);
        json state = json::parse(read_file(killed.partial() / "state.json"));
        std::string seed = state["choices"][name];
        seed[0] = seed[0] == '0' ? '1' : '0';
        state["choices"][name] = seed;
        SplitModel::replace(killed.partial() / "state.json", state.dump());
        expect_refused([&] { killed.go_on(); }, "state.json: is damaged");
    }
}

/// The digest in the state keeps accidents out, but not a program that writes one.
TEST(KilledSplit, DECO_11_a_seed_that_is_none_is_refused_with_its_file) {
    for (const json& wrong : {json("12"), json(12), json()}) {
        KilledSplit killed(5);
        const fs::path file = killed.partial() / "state.json";
        json state = json::parse(read_file(file));
        state["choices"]["check_seed"] = wrong;
        state.erase("sha256");
        const std::string text = state.dump();
        state["sha256"] = artifact::to_hex(artifact::sha256(std::as_bytes(std::span(text))));
        SplitModel::replace(file, state.dump());
        expect_refused([&] { killed.go_on(); },
                       file.string() + ": check_seed: expected 64 lower-case hexadecimal digits");
    }
}

/// A split that was killed after five matrices goes on under the same options only.
TEST(Split, DECO_11_another_seed_strategy_or_plan_does_not_go_on_with_an_unfinished_split) {
    const TemporaryFolder folder;
    const auto partial = folder / ".out.slip-partial";
    const auto left = folder / "left";
    UnwrittenCheckpoint().write(folder / "model");
    const Checkpoint checkpoint(folder / "model");
    slip::SplitOptions options;
    options.plan = small_plan;
    options.out = folder / "out";
    options.strategy = slip::Strategy::random;
    options.seed.emplace().fill(1);
    options.progress = [&](const slip::SplitProgress& now) {
        if (now.finished < 5) return;
        std::filesystem::copy(partial, left, std::filesystem::copy_options::recursive);
        throw std::runtime_error("killed");
    };
    EXPECT_THROW(split_checkpoint(checkpoint, groups_of(true), options), std::runtime_error);
    std::filesystem::rename(left, partial);
    std::size_t skipped = 0;
    options.progress = [&](const slip::SplitProgress& now) { skipped = now.skipped; };

    using Change = void (*)(slip::SplitOptions&);
    for (const Change change : std::initializer_list<Change>{
             [](slip::SplitOptions& o) { o.seed->back() = 2; },
             [](slip::SplitOptions& o) { o.seed.reset(); },
             [](slip::SplitOptions& o) { o.strategy = slip::Strategy::rcs; },
             [](slip::SplitOptions& o) { o.plan[0].rank = 2; },
             [](slip::SplitOptions& o) { o.shards = 2; }}) {
        slip::SplitOptions other = options;
        change(other);
        expect_refused([&] { split_checkpoint(checkpoint, groups_of(true), other); },
                       "holds an unfinished split of another");
    }
    split_checkpoint(checkpoint, groups_of(true), options);
    EXPECT_EQ(skipped, 4U) << "the matrices of the groups that were finished";
}

// --- a real model

/// Also with ranks as high as they go, when next to nothing is left for David.
TEST(Split, DECO_2_ENC_5_a_real_model_at_low_and_at_full_rank) {
    const std::filesystem::path stories =
        std::filesystem::path(SLIP_SHARED_DIR) / "data/models/stories260K";
    if (!std::filesystem::exists(stories)) {
        GTEST_SKIP() << "the shared model stories260K is not here";
    }
    const Checkpoint checkpoint(stories);
    const auto groups = graph::groups_of(checkpoint.config());
    for (const std::size_t rank : {std::size_t{4}, std::size_t{1000}}) {
        const TemporaryFolder folder;
        const slip::Plan plan = artifact::uniform_plan(groups, rank, std::nullopt);
        const auto notes =
            splitting::split_checkpoint(checkpoint, groups, {plan, folder / "out", {}});
        EXPECT_EQ(notes.size(), rank == 4 ? 1u : 1u + 5 * 7);
        const CharlieArtifact charlie(folder / "out");
        const DavidArtifact david(folder / "out/david");
        EXPECT_NO_THROW(require_same_split(charlie, david));
        EXPECT_EQ(charlie.groups().size(), 21u);
    }
}

}  // namespace
}  // namespace slip::testing
