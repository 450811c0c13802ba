// Check vectors that are prepared without David's half beside Charlie's.
#include "slip/check_vectors.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "property_tests/artifact/split_model.hpp"

namespace slip::artifact_tests {
namespace {

/// Prepares a pair from a stream of David's file; returns the number of files in the state folder.
std::size_t prepare(const SplitModel& split, const std::filesystem::path& state) {
    std::ifstream weights(split.david() / "david.safetensors", std::ios::binary);
    prepare_check_vectors(split.out(), {.state = state, .weights = &weights, .progress = {}});
    const std::filesystem::path folder = *std::filesystem::directory_iterator(state);
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// ENC-4 must be checked while David's file is read: a session with a prepared pair has no W_D, and
/// the integrity check cannot detect the overflow.
TEST(CheckVectors, ENC_4_MODEL_7_activations_that_are_too_wide_for_the_stream_are_refused) {
    Model model;
    model.groups = {{1000, {{"model.wide", "wide", 0, 2}}}};
    model.values["model.wide.weight"].assign(2000, 0.5f);
    model.shapes["model.wide.weight"] = {2, 1000};
    const SplitModel split(model, {});
    const slip::testing::TemporaryDirectory state;
    EXPECT_EQ(prepare(split, state / "good"), 2U);
    SplitModel::edit(split.charlie() / "plan.json",
                     [](json& d) { d["groups"][0]["qa_max"] = ((1 << 30) - 1) / 127'000 + 1; });
    expect_refused([&] { prepare(split, state / "bad"); }, "too wide");
    const std::filesystem::path folder = *std::filesystem::directory_iterator(state / "bad");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1) << "no pair";
}

}  // namespace
}  // namespace slip::artifact_tests
