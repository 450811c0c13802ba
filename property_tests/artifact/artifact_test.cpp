// The two halves on disk (MODEL-7): what the loaders accept, and everything that they must refuse.
#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/sha256.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "optimized/artifact/hint_digests.hpp"
#include "property_tests/artifact/split_model.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {
namespace {

using namespace artifact;
using namespace base;

// --- David's loader

TEST(DavidLoads, MODEL_7_any_tampered_byte_is_refused) {
    const SplitModel split;
    const std::string good = read_file(split.david() / "david.safetensors");
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
    const std::string good = read_file(path);
    const std::vector<std::pair<std::function<void(json&)>, std::string>> cases = {
        {[](json& m) { m["version"] = 4; }, "is of an artifact of version 4"},
        {[](json& m) { m["version"] = "3"; }, "\"version\""},
        {[](json& m) { m["version"] = 3.0; }, "\"version\""},
        {[](json& m) { m["format"] = "slip-charlie"; }, "\"format\""},
        {[](json& m) { m["set"] = "Paper"; }, "\"set\": expected one of paper"},
        {[](json& m) { m.erase("set"); }, "\"set\" is missing"},
        {[](json& m) { m["profile"] = "P31"; }, "\"profile\" is unknown"},
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
    std::string weights = read_file(split.david() / "david.safetensors");
    weights.back() = static_cast<char>(-128);
    split.replace_weights(weights);
    expect_refused([&] { DavidArtifact{split.david()}; }, "-128");
}

TEST(DavidLoads, MODEL_7_a_folder_with_charlies_artifact_is_refused) {
    const SplitModel split;
    expect_refused([&] { DavidArtifact{split.out()}; }, "holds Charlie's artifact");
    expect_refused([&] { DavidArtifact{split.charlie()}; }, "holds Charlie's artifact");
    for (const char* name : {"plan.json", "charlie.safetensors", "check.safetensors"}) {
        std::filesystem::copy_file(split.charlie() / name, split.david() / name);
        expect_refused([&] { DavidArtifact{split.david()}; }, name);
        std::filesystem::remove(split.david() / name);
    }
    std::filesystem::copy(split.charlie(), split.david() / "charlie");
    expect_refused([&] { DavidArtifact{split.david()}; }, "charlie");
}

TEST(DavidLoads, CONV_4_missing_files_are_named) {
    const TemporaryFolder folder;
    expect_refused([&] { DavidArtifact{folder.path()}; }, "david.safetensors");
    const SplitModel split;
    std::filesystem::remove(split.david() / "manifest.json");
    expect_refused([&] { DavidArtifact{split.david()}; }, "manifest.json");
}

// --- Charlie's loader

TEST(CharlieLoads, PARAM_4_MODEL_7_any_other_description_is_refused) {
    const SplitModel split;
    const auto path = split.charlie() / "plan.json";
    const std::string good = read_file(path);
    const std::vector<std::pair<std::function<void(json&)>, std::string>> cases = {
        {[](json& d) { d["version"] = 0; }, "is of an artifact of version 0"},
        {[](json& d) { d["version"] = 4; }, "is of an artifact of version 4"},
        {[](json& d) { d["format"] = "slip-david"; }, "\"format\""},
        {[](json& d) { d["set"] = ""; }, "\"set\": expected one of paper"},
        {[](json& d) { d.erase("set"); }, "\"set\" is missing"},
        {[](json& d) { d["profile"] = "P31"; }, "\"profile\" is unknown"},
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
        {[](json& d) { d["groups"][0]["activation_norm"] = 1023; }, "\"activation_norm\""},
        {[](json& d) { d["groups"][0]["activation_norm"] = 32768; }, "\"activation_norm\""},
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
    const std::string good = read_file(path);
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
    const std::string good = read_file(path);
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
    for (const int bad : {2048, -2048, 32767, -32768}) {
        expect(member.a.significands.data(), static_cast<std::int16_t>(bad),
               ".A_exponent, row 0: expected integers");
    }
    for (const int bad : {21, 127, -1, -128}) {
        expect(member.a.exponents.data(), static_cast<std::int8_t>(bad),
               ".A_exponent, row 0: expected integers");
    }
    // As large as they may be: then it is the digest that refuses them.
    expect(member.b.data(), std::int16_t{-2047}, "SHA256SUMS");
    expect(member.a.significands.data(), std::int16_t{-2047}, "SHA256SUMS");
}

/// Rebuilds a file of Charlie's with one of its tensors changed, and its digest with it.
void change_tensor(const SplitModel& split, const std::string& file_name, const std::string& name,
                   const std::function<void(importing::Tensor&, std::vector<std::byte>&)>& change) {
    const auto path = split.charlie() / file_name;
    const importing::SafetensorsFile file(path);
    std::vector<importing::Tensor> tensors;
    std::vector<std::byte> bytes(file.tensor(name).bytes.begin(), file.tensor(name).bytes.end());
    for (const auto& [_, tensor] : file.tensors()) {
        tensors.push_back(tensor);
        if (tensor.name != name) continue;
        change(tensors.back(), bytes);
        tensors.back().bytes = bytes;
    }
    std::stable_sort(tensors.begin(), tensors.end(), [](const auto& s, const auto& t) {
        return size_of(s.dtype) > size_of(t.dtype);
    });
    const auto changed = split.charlie() / "changed";
    importing::write_safetensors(changed, tensors, {}, 0600);
    std::filesystem::rename(changed, path);
    SplitModel::refresh_digests(split.charlie());
}

TEST(CharlieLoads, MODEL_7_the_exponents_of_a_have_one_type_shape_and_name) {
    using importing::DType;
    using importing::Tensor;
    using Bytes = std::vector<std::byte>;
    const std::string a = "model.layers.0.q_proj.A";
    const std::string e = a + "_exponent";
    const std::vector<std::pair<std::string, std::function<void(Tensor&, Bytes&)>>> cases = {
        {a,
         [](Tensor& t, Bytes& bytes) {  // version 1
             t.dtype = DType::i32;
             bytes.resize(2 * bytes.size());
         }},
        {a, [](Tensor& t, Bytes&) { std::swap(t.shape[0], t.shape[1]); }},
        {e, [](Tensor& t, Bytes&) { t.name += "s"; }},
        {e, [](Tensor& t, Bytes&) { t.shape.push_back(1); }},
        {e,
         [](Tensor& t, Bytes& bytes) {
             ++t.shape[0];
             bytes.push_back({});
         }},
        {e,
         [](Tensor& t, Bytes& bytes) {
             t.dtype = DType::i16;
             bytes.resize(2 * bytes.size());
         }},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const SplitModel split;
        change_tensor(split, "charlie.safetensors", cases[i].first, [](Tensor&, Bytes&) {});
        EXPECT_EQ(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
        change_tensor(split, "charlie.safetensors", cases[i].first, cases[i].second);
        SCOPED_TRACE(i);
        expect_refused([&] { CharlieArtifact{split.out()}; }, "tensor " + cases[i].first);
    }
}

/// An older artifact differs in other fields and files too: its version is told before them.
TEST(BothHalves, PARAM_4_older_artifacts_are_refused_with_what_to_do) {
    for (const int version : {1, 2}) {
        const SplitModel split;
        const auto make_old = [&](json& description) {
            description["version"] = version;
            description.erase("set");
            description["profile"] = "P31";
        };
        SplitModel::edit(split.charlie() / "plan.json", make_old);
        SplitModel::edit(split.david() / "manifest.json", make_old);
        std::filesystem::remove(split.charlie() / "check.safetensors");
        const std::string sentence =
            ": is of an artifact of version " + std::to_string(version) +
            "; this program reads version 3: split the model again with this version's "
            "'slip split'";
        expect_refused([&] { CharlieArtifact{split.out()}; },
                       (split.charlie() / "plan.json").string() + sentence);
        expect_refused([&] { DavidArtifact{split.david()}; },
                       (split.david() / "manifest.json").string() + sentence);
    }
}

// --- the secret of the check

TEST(CheckSecret, MODEL_7_is_handed_out_as_it_was_written) {
    const SplitModel split;
    const CharlieArtifact charlie(split.out());
    const importing::SafetensorsFile file(split.charlie() / "check.safetensors");
    const base::CheckSecret secret = charlie.check_secret();
    const auto same = [](std::span<const std::uint8_t> a, std::span<const std::byte> b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::uint8_t x, std::byte y) {
            return x == std::to_integer<std::uint8_t>(y);
        });
    };
    EXPECT_TRUE(same(secret.seed, file.tensor("seed").bytes));
    EXPECT_EQ(secret.seed.size(), 32U);
    ASSERT_EQ(secret.companions.size(), charlie.groups().size());
    for (std::size_t g = 0; g < secret.companions.size(); ++g) {
        const importing::Tensor& tensor = file.tensor("group." + std::to_string(g));
        EXPECT_EQ(tensor.shape, (std::vector<std::size_t>{8, 4, charlie.groups()[g].n}));
        EXPECT_TRUE(same(secret.companions[g], tensor.bytes));
    }
}

TEST(CheckSecret, MODEL_7_a_changed_byte_is_refused_by_its_digest) {
    const SplitModel split;
    const auto path = split.charlie() / "check.safetensors";
    const std::string good = read_file(path);
    for (const std::string name : {"seed", "group.0", "group.4"}) {
        const importing::SafetensorsFile file(path);
        const auto* begin = file.bytes().data();
        const auto position = static_cast<std::size_t>(file.tensor(name).bytes.data() - begin);
        std::string bad = good;
        // Below every prime, so that only the digest tells.
        bad[position] = static_cast<char>(bad[position] == 0 ? 1 : 0);
        SplitModel::replace(path, bad);
        expect_refused([&] { CharlieArtifact{split.out()}; },
                       "check.safetensors: does not have the SHA-256");
        SplitModel::replace(path, good);
    }
    EXPECT_EQ(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
}

TEST(CheckSecret, INTEG_2_a_byte_that_is_not_below_its_prime_is_refused) {
    constexpr std::size_t n = 12;  // of group 1
    for (std::size_t row = 0; row < parameters::kappa * 4; ++row) {
        const SplitModel split;
        const std::uint8_t prime = parameters::primes[row % 4];
        const auto set_byte = [&](std::uint8_t byte) {
            change_tensor(split, "check.safetensors", "group.1",
                          [&](importing::Tensor&, std::vector<std::byte>& bytes) {
                              bytes[row * n + row % n] = std::byte{byte};
                          });
        };
        set_byte(prime);
        expect_refused([&] { CharlieArtifact{split.out()}; },
                       "check.safetensors: tensor group.1, combination " + std::to_string(row / 4) +
                           ", plane " + std::to_string(row % 4) + ": expected bytes below " +
                           std::to_string(prime));
        set_byte(static_cast<std::uint8_t>(prime - 1));
        EXPECT_EQ(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
    }
}

TEST(CheckSecret, MODEL_7_tensors_have_one_name_type_and_shape) {
    using importing::DType;
    using importing::Tensor;
    using Bytes = std::vector<std::byte>;
    const std::vector<std::pair<std::string, std::function<void(Tensor&, Bytes&)>>> cases = {
        {"seed", [](Tensor& t, Bytes&) { t.name = "seeds"; }},  // missing
        {"group.2", [](Tensor& t, Bytes&) { t.name = "group.5"; }},
        {"seed",
         [](Tensor& t, Bytes& bytes) {
             t.shape = {31};
             bytes.pop_back();
         }},
        {"seed",
         [](Tensor& t, Bytes&) {
             t.shape = {4, 8};
         }},
        {"group.0", [](Tensor& t, Bytes&) { t.dtype = DType::i8; }},
        {"group.0", [](Tensor& t, Bytes&) { std::swap(t.shape[0], t.shape[1]); }},
        {"group.0",
         [](Tensor& t, Bytes&) {
             t.shape = {t.shape[0], t.shape[1] * t.shape[2]};
         }},
        {"group.4",
         [](Tensor& t, Bytes& bytes) {  // a plane less
             --t.shape[1];
             bytes.resize(t.shape[0] * t.shape[1] * t.shape[2]);
         }},
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const SplitModel split;
        change_tensor(split, "check.safetensors", cases[i].first, cases[i].second);
        SCOPED_TRACE(i);
        expect_refused([&] { CharlieArtifact{split.out()}; }, "check.safetensors: ");
        expect_refused([&] { CharlieArtifact{split.out()}; }, "tensor " + cases[i].first);
    }
}

TEST(CheckSecret, MODEL_7_nothing_else_is_in_the_file) {
    const std::vector<std::byte> bytes(3);
    using Change = void (*)(std::vector<importing::Tensor>&, std::map<std::string, std::string>&,
                            std::span<const std::byte>);
    for (const Change change : std::initializer_list<Change>{
             [](auto&tensors, auto&, auto more) {
                 tensors.push_back({"group.5", importing::DType::u8, {3}, more});
             },
             [](auto&, auto&metadata, auto) { metadata["format"] = "pt"; }}) {
        const SplitModel split;
        const auto path = split.charlie() / "check.safetensors";
        {
            const importing::SafetensorsFile file(path);
            std::vector<importing::Tensor> tensors;
            for (const auto& [_, tensor] : file.tensors()) tensors.push_back(tensor);
            std::map<std::string, std::string> metadata;
            change(tensors, metadata, bytes);
            importing::write_safetensors(split.charlie() / "changed", tensors, metadata, 0600);
        }
        std::filesystem::rename(split.charlie() / "changed", path);
        SplitModel::refresh_digests(split.charlie());
        expect_refused([&] { CharlieArtifact{split.out()}; }, "holds more than the seed");
    }
}

TEST(CheckSecret, CONV_4_a_missing_file_is_named) {
    const SplitModel split;
    std::filesystem::remove(split.charlie() / "check.safetensors");
    expect_refused([&] { CharlieArtifact{split.out()}; }, "check.safetensors");
}

TEST(CharlieLoads, PARAM_2_the_edges_of_a_row) {
    using Row = std::vector<std::int16_t>;
    const std::vector<std::pair<Row, int>> valid = {
        {{}, 0},        {{0, 0}, 0},     {{2047, -2047}, 0}, {{1, 0}, 0},
        {{1024, 0}, 1}, {{3, -1024}, 1}, {{2047}, 20},       {{-1024}, 20}};
    for (const auto& [row, e] : valid) {
        EXPECT_TRUE(is_valid_row(row, static_cast<std::int8_t>(e)))
            << ::testing::PrintToString(row) << " " << e;
    }
    const std::vector<std::pair<Row, int>> invalid = {
        {{}, 1},      {{0, 0}, 1},    {{1023, -1023}, 1}, {{1}, 20},    {{2047}, 21},
        {{2047}, -1}, {{2047}, -128}, {{2048}, 0},        {{-2048}, 5}, {{0, -32768}, 0}};
    for (const auto& [row, e] : invalid) {
        EXPECT_FALSE(is_valid_row(row, static_cast<std::int8_t>(e)))
            << ::testing::PrintToString(row) << " " << e;
    }
}

/// PARAM-2, and so one encoding per row: what a reader takes is what a writer makes of A.
RC_GTEST_PROP(CharlieLoads, PARAM_2_a_row_has_one_exponent, ()) {
    const auto any = any_list<std::int16_t>(*any_size(0, 6).as("rank"), -2100, 2100,
                                            {0, 1023, 1024, -1023, -1024, 2047, 2048});
    const std::vector<std::int16_t> row = *any.as("a");
    const auto exponent = static_cast<std::int8_t>(*rc::gen::inRange(-2, 23).as("e"));
    bool is_least = exponent >= 0 && exponent <= 20;
    std::int64_t largest = 0;
    for (const std::int64_t a : row) largest = std::max(largest, std::abs(a));
    is_least = is_least && largest <= 2047;
    const std::int64_t entry = is_least ? largest << exponent : 0;  // the greatest |A[i][c]|
    for (int e = 0; is_least && e < exponent; ++e) is_least = entry > std::int64_t{2047} << e;
    RC_ASSERT(is_valid_row(row, exponent) == is_least);
}

TEST(CharlieLoads, MODEL_7_any_changed_byte_of_any_file_is_refused) {
    const SplitModel split;
    std::size_t changed = 0;
    for (const auto& entry : std::filesystem::directory_iterator(split.charlie())) {
        const std::string good = read_file(entry.path());
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
    write_file(split.charlie() / "merges.txt", "x", 0600);
    expect_refused([&] { CharlieArtifact{split.out()}; }, "merges.txt: does not have");
    std::filesystem::remove(split.charlie() / "merges.txt");
    std::filesystem::remove(split.charlie() / layout::digests);
    expect_refused([&] { CharlieArtifact{split.out()}; }, "SHA256SUMS");
}

TEST(Hints, MODEL_7_digests_do_not_depend_on_pieces) {
    constexpr std::size_t row = 40, rows = 131;
    const std::vector<std::byte> seed(32, std::byte{7});
    std::vector<std::byte> hint(row * rows);
    for (std::size_t i = 0; i < hint.size(); ++i) hint[i] = static_cast<std::byte>(i * i);
    const auto digests = [&](std::span<const std::size_t> pieces) {
        HintDigests stream(seed, row);
        std::span<const std::byte> rest = hint;
        for (const std::size_t piece : pieces) {
            stream.append(rest.first(piece * row));
            rest = rest.subspan(piece * row);
        }
        return stream.finish();
    };
    const auto offset = [](std::size_t of_row) {
        return static_cast<std::ptrdiff_t>(of_row * row);
    };
    std::vector<std::byte> expected;
    for (const auto& [first, count] :
         {std::pair<std::size_t, std::size_t>{0, 64}, {64, 64}, {128, 3}}) {
        std::vector<std::byte> chunk = seed;
        chunk.insert(chunk.end(), hint.begin() + offset(first),
                     hint.begin() + offset(first + count));
        const artifact::Sha256 digest = artifact::sha256(chunk);
        const auto bytes = std::as_bytes(std::span(digest));
        expected.insert(expected.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(digests(std::array<std::size_t, 1>{131}), expected);
    EXPECT_EQ(digests(std::array<std::size_t, 5>{50, 0, 14, 66, 1}), expected);
    EXPECT_NE(digests(std::array<std::size_t, 1>{130}), expected);
}

TEST(Hints, MODEL_7_a_changed_byte_is_found) {
    const SplitModel split(UnwrittenCheckpoint(true, 131), small_plan, "paper-lattice");
    const std::filesystem::path path = split.charlie() / "masks.safetensors";
    const std::string whole = base::read_file(path);
    const auto position = [&](const char* tensor, std::size_t offset) {
        const importing::SafetensorsFile file(path);
        const std::byte* const start = file.tensor(tensor).bytes.data();
        return static_cast<std::size_t>(start - file.bytes().data()) + offset;
    };
    const std::size_t row = 8 * 256 * 5, group = position("group.4", 0);
    const auto refusal_of = [&](std::size_t at) {
        std::string contents = whole;
        contents[at] = static_cast<char>(contents[at] ^ 1);
        SplitModel::replace(path, contents);
        const CharlieArtifact charlie(split.out());
        return refusal([&] { charlie.require_hint(4); });
    };
    {
        const CharlieArtifact charlie(split.out());
        for (std::size_t g = 0; g < charlie.groups().size(); ++g) charlie.require_hint(g);
    }
    const std::string at = path.string() + ": tensor group.4, rows ";
    EXPECT_TRUE(refusal_of(group).starts_with(at + "0 to 63:"));
    EXPECT_TRUE(refusal_of(group + 128 * row - 1).starts_with(at + "64 to 127:"));
    EXPECT_TRUE(refusal_of(group + 131 * row - 1).starts_with(at + "128 to 130:"));
    EXPECT_TRUE(refusal_of(position("seed", 0)).starts_with(at + "0 to 63:"));
}

TEST(Hints, MODEL_7_the_list_states_their_digest_all_the_same) {
    const SplitModel split(UnwrittenCheckpoint(), small_plan, "paper-lattice");
    const std::filesystem::path list = split.charlie() / artifact::layout::digests;
    const std::string text = base::read_file(list);
    const std::size_t line = text.find("  masks.safetensors\n");
    ASSERT_NE(line, std::string::npos);
    EXPECT_EQ(text.substr(line - 64, 64),
              artifact::to_hex(artifact::sha256_of_file(split.charlie() / "masks.safetensors")));
    for (const std::string& wrong : {text.substr(0, line - 64) + text.substr(line + 20),
                                     text.substr(0, line - 1) + "G" + text.substr(line),
                                     text.substr(0, line) + "?" + text.substr(line + 1)}) {
        SplitModel::replace(list, wrong);
        expect_refused([&] { const CharlieArtifact charlie(split.out()); },
                       "masks.safetensors: does not have the SHA-256 that " + list.string());
    }
}

TEST(CharlieLoads, MODEL_7_davids_folder_is_refused) {
    const SplitModel split;
    expect_refused([&] { CharlieArtifact{split.david()}; }, "charlie.safetensors");
    std::filesystem::remove_all(split.charlie());
    std::filesystem::copy(split.david(), split.charlie());
    EXPECT_NE(refusal([&] { CharlieArtifact{split.out()}; }), "accepted");
}

// --- both halves

TEST(BothHalves, MODEL_7_of_different_splits_are_refused) {
    SplitModel split;
    split.split({}, "other");
    const CharlieArtifact charlie(split.out());
    const DavidArtifact david(split.folder() / "other/david");
    expect_refused([&] { require_same_split(charlie, david); }, "different splits");
}

TEST(IntegerModel, ENC_3_norms_are_rounded_up_and_activations_down) {
    const auto norm_of = [](const std::vector<std::int8_t>& rows, std::size_t n) {
        return largest_norm({rows.data(), rows.size() / n, n});
    };
    EXPECT_EQ(norm_of({0, 0, 0}, 3), 0U);
    EXPECT_EQ(norm_of({3, -4}, 2), 5U) << "an integer";
    EXPECT_EQ(norm_of({3, -4, 0, 1, 5, 0}, 3), 6U) << "26, of the second row, has no root";
    EXPECT_EQ(norm_of({-127, 0, 0, 1}, 2), 127U);
    EXPECT_EQ(norm_of(std::vector<std::int8_t>(1 << 20, -127), 1 << 20), 127U << 10);

    constexpr std::uint64_t half = 1'684'281'158;  // (L - 1) / 2 of `paper`
    EXPECT_EQ(largest_product(4), half);
    EXPECT_EQ(activation_norm(0, 4), 32767);
    EXPECT_EQ(activation_norm(half / 32767, 4), 32767);
    EXPECT_EQ(activation_norm(half / 32767 + 1, 4), 32766);
    EXPECT_EQ(activation_norm(127 << 10, 4), 12951);
    EXPECT_EQ(activation_norm(100, 2), 302) << "(251 * 241 - 1) / 2 = 30245";
}

/// The least integer whose square no row's sum of squares exceeds.
RC_GTEST_PROP(IntegerModel, ENC_3_a_norm_is_the_least_integer, ()) {
    const std::size_t n = *any_size(1, 400).as("n");
    const std::vector<std::int8_t> row =
        *any_list<std::int8_t>(n, -127, 127, {0, 1, -127, 127}).as("row");
    std::uint64_t squares = 0;
    for (const int w : row) squares += static_cast<std::uint64_t>(w * w);
    const std::uint64_t norm = largest_norm({row.data(), 1, n});
    RC_ASSERT(norm * norm >= squares);
    RC_ASSERT(norm == 0 || (norm - 1) * (norm - 1) < squares);
}

TEST(BothHalves, ENC_4_activations_that_are_too_wide_are_refused) {
    // Rows of 2^18 equal weights have a norm of 127 * 2^9, which leaves less than 32767.
    constexpr std::size_t n = 1 << 18;
    constexpr std::int32_t norm = 1'684'281'158 / (127 * 512);
    UnwrittenCheckpoint model;
    model.groups = {{n, {{"model.wide", "wide", 0, 2}}}};
    model.values["model.wide.weight"].assign(2 * n, 0.5f);
    model.shapes["model.wide.weight"] = {2, n};
    const SplitModel split(model, {});
    const DavidArtifact david(split.david());
    EXPECT_EQ(CharlieArtifact(split.out()).groups()[0].activation_norm, norm);
    EXPECT_NO_THROW(require_same_split(CharlieArtifact(split.out()), david));
    SplitModel::edit(split.charlie() / "plan.json",
                     [](json& d) { d["groups"][0]["activation_norm"] = norm + 1; });
    const CharlieArtifact charlie(split.out());
    expect_refused([&] { require_same_split(charlie, david); }, "too wide");
}

}  // namespace
}  // namespace slip::testing
