// The two halves on disk (MODEL-7): what the loaders accept, and everything that they must refuse.
#include "optimized/artifact/artifact.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "property_tests/artifact/split_model.hpp"

namespace slip::artifact_tests {
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
    std::string weights = read_file(split.david() / "david.safetensors");
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

// --- Charlie's loader

TEST(CharlieLoads, PARAM_4_MODEL_7_any_other_description_is_refused) {
    const SplitModel split;
    const auto path = split.charlie() / "plan.json";
    const std::string good = read_file(path);
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
    const DavidArtifact david(split.directory() / "other/david");
    expect_refused([&] { require_same_split(charlie, david); }, "different splits");
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
    EXPECT_NO_THROW(require_same_split(CharlieArtifact(split.out()), david));
    SplitModel::edit(split.charlie() / "plan.json",
                     [](json& d) { d["groups"][0]["qa_max"] = ((1 << 30) - 1) / 127'000 + 1; });
    const CharlieArtifact charlie(split.out());
    expect_refused([&] { require_same_split(charlie, david); }, "too wide");
}

}  // namespace
}  // namespace slip::artifact_tests
