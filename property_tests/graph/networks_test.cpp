// Whole convolutional networks: hybrid, unsplit and the reference alike, and what is refused.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/engines/hybrid_engine.hpp"
#include "optimized/graph/cnn.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/split_checkpoint.hpp"
#include "property_tests/generators/left_factor.hpp"
#include "property_tests/generators/onnx_encoder.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "reference/convolution.hpp"
#include "reference/encoding.hpp"
#include "reference/parameters.hpp"

namespace slip::testing {
namespace {

using namespace artifact;
using namespace base;
using namespace testing::onnx_encoder;

/// Whole numbers from -7 to 7.
std::vector<float> weights(std::size_t count, Random& random) {
    std::vector<float> values(count);
    for (float& value : values) value = uniform<float>(random, -7.0F, 7.0F);
    return values;
}

/// 6 x 5 image of 2 channels; Conv to 6 (3 x 3, stride 2, padding 1), Relu, Conv to 3 (2 x 2),
/// Flatten, Gemm to 4.
std::string network_file(Random& random) {
    const std::string stride = attribute("strides", {2, 2}) + attribute("pads", {1, 1, 1, 1});
    return model(
        floats("first.weight", {6, 2, 3, 3}, weights(6 * 18, random)) +
        floats("first.bias", {6}, weights(6, random)) +
        floats("second.weight", {3, 6, 2, 2}, weights(3 * 24, random)) +
        floats("M", {4, 12}, weights(48, random)) + floats("d", {4}, weights(4, random)) +
        value_info(11, "x", {1, 2, 6, 5}) +
        node("Conv", {"x", "first.weight", "first.bias"}, "a", stride) + node("Relu", {"a"}, "b") +
        node("Conv", {"b", "second.weight"}, "c") + node("Flatten", {"c"}, "f") +
        node("Gemm", {"f", "M", "d"}, "y", attribute("transB", 1)) + value_info(12, "y", {1, 4}));
}

/// A network that was split, in a folder of its own.
struct SplitNetwork {
    SplitNetwork(const Plan& plan, std::uint64_t seed) {
        Random random(seed);
        write_file(folder / "net.onnx", network_file(random), 0600);
        const importing::Checkpoint checkpoint(folder / "net.onnx");
        SplitOptions options;
        options.plan = plan;
        options.out = folder / "out";
        options.accept_grid = true;  // small integers, which the reference computes with
        splitting::split_checkpoint(checkpoint, graph::cnn_groups(*checkpoint.network()), options);
    }
    std::filesystem::path out() const { return folder / "out"; }

    TemporaryFolder folder;
};

std::vector<float> lookup(const importing::SafetensorsFile& file, std::string_view name,
                          std::size_t size) {
    auto values = importing::to_floats(file.tensor(name));
    EXPECT_EQ(values.size(), size);
    return values;
}

/// The first layer with the reference alone: dense matrices of W_D, A and B by patches (CNN-5).
std::vector<float> reference_layer(const CharlieGroup& group, const kernels::GroupWeights& w,
                                   std::span<const float> image) {
    const CharlieMember& member = group.members[0];
    const auto shape = to_reference(*group.convolution);
    const auto [q, scale] = reference::quantise(image, group.activation_norm);
    const reference::Vector davids =
        reference::convolve(shape, to_reference(MatrixView<const std::int8_t>(w)), q);
    const reference::Vector charlies =
        reference::charlies_convolution(shape, matrix_of(member.a), to_reference(member.b), q);
    reference::Vector y;
    std::vector<float> row_scales;
    for (std::size_t i = 0; i < davids.size(); ++i) {
        y.push_back((davids[i] << reference::fraction_bits) + charlies[i]);
        row_scales.push_back(member.row_scale[i % shape.N]);
    }
    return reference::dequantise(y, row_scales, scale);
}

TEST(Networks, CNN_5_CNN_6_LIN_4_hybrid_equals_unsplit_and_the_reference) {
    const std::vector<Plan> plans = {
        {{0, "conv", 3}, {1, "conv", 2}, {2, "linear", 1}}, {{1, "conv", 1}}, {{0, "conv", 0}}};
    for (std::size_t p = 0; p < plans.size(); ++p) {
        const SplitNetwork split(plans[p], p);
        const CharlieArtifact charlie(split.out());
        const DavidArtifact david(split.out() / "david");
        ASSERT_NE(charlie.network(), nullptr);
        EXPECT_THROW(charlie.config(), BadInput);
        const kernels::OffloadedWeights stacked = david.weights();
        const graph::Cnn graph(*charlie.network(), [&](std::string_view name, std::size_t size) {
            return lookup(charlie.parameters(), name, size);
        });
        const protocol::DavidModel model{stacked, david.set(), david.digest()};
        protocol::DavidSession david_session(model);
        protocol::InProcessTransport transport(david_session);
        const protocol::IntegrityCheck check(charlie.check_secret(), kernels::shapes_of(stacked),
                                             charlie.set().planes);
        engines::HybridEngine hybrid(charlie, stacked, check, transport, small_stock());
        engines::UnsplitEngine unsplit(charlie, david);

        Random random(p);
        std::vector<float> images = weights(5 * 60, random);
        std::fill_n(images.begin() + 60, 60, 0.0F);
        const MatrixView<const float> view(images.data(), 5, 60);
        EXPECT_EQ(graph.forward(hybrid, view), graph.forward(unsplit, view));
        EXPECT_EQ(hybrid.statistics().rounds, 3U);
        EXPECT_EQ(hybrid.statistics().columns, 15U);

        const CharlieGroup& first = charlie.groups()[0];
        std::vector<float> expected;
        for (std::size_t t = 0; t < 5; ++t) {
            const auto y = reference_layer(first, stacked[0], view.row(t));
            expected.insert(expected.end(), y.begin(), y.end());
        }
        std::vector<float> computed(5 * first.product().outputs());
        const std::array outputs{MatrixView<float>(computed.data(), 5, first.product().outputs())};
        hybrid.apply(0, view, outputs);
        EXPECT_EQ(computed, expected);
        EXPECT_GT(hybrid.statistics().david_multiplications, 0U);
    }
}

/// Every message's outputs stand behind those of the messages before it.
TEST(Networks, MODEL_3_CNN_5_more_images_than_fit_a_message_are_cut_into_several) {
    const SplitNetwork split({{0, "conv", 2}}, 1);
    const CharlieArtifact charlie(split.out());
    const DavidArtifact david(split.out() / "david");
    const kernels::OffloadedWeights stacked = david.weights();
    const protocol::DavidModel model{stacked, david.set(), david.digest()};
    protocol::DavidSession david_session(model);
    protocol::InProcessTransport transport(david_session);
    const protocol::IntegrityCheck check(charlie.check_secret(), kernels::shapes_of(stacked),
                                         charlie.set().planes);
    engines::HybridEngine hybrid(charlie, stacked, check, transport, small_stock());
    engines::UnsplitEngine unsplit(charlie, david);

    Random random(2);
    const ProductShape& shape = stacked[0].shape();
    const std::size_t count = protocol::columns_that_fit(shape, david.set().planes) + 3;
    const std::vector<float> images = weights(count * shape.inputs(), random);
    const auto outputs_of = [&](base::Engine& engine) {
        std::vector<float> outputs(count * shape.outputs());
        const std::array views{MatrixView<float>(outputs.data(), count, shape.outputs())};
        engine.apply(0, {images.data(), count, shape.inputs()}, views);
        return outputs;
    };
    EXPECT_TRUE(outputs_of(hybrid) == outputs_of(unsplit));
    EXPECT_EQ(hybrid.statistics().rounds, 2U);
}

/// Keeps what it is given, and answers with zeros.
class RecordingEngine : public base::Engine {
public:
    void apply(GroupId, MatrixView<const float> input,
               std::span<const MatrixView<float>> outputs) override {
        received.assign(input.elements().begin(), input.elements().end());
        const auto zeros = outputs[0].elements();
        std::fill(zeros.begin(), zeros.end(), 0.0F);
    }
    std::vector<float> received;
};

TEST(Networks, CNN_6_the_mean_of_a_window_that_is_not_square) {
    Random random(3);
    const TemporaryFolder folder;
    write_file(
        folder / "net.onnx",
        model(floats("M", {2, 12}, weights(24, random)) + value_info(11, "x", {1, 1, 4, 6}) +
              node("AveragePool", {"x"}, "a",
                   attribute("kernel_shape", {2, 3}) + attribute("strides", {1, 1})) +
              node("Flatten", {"a"}, "f") + node("Gemm", {"f", "M"}, "y", attribute("transB", 1)) +
              value_info(12, "y", {1, 2})),
        0600);
    const importing::Checkpoint checkpoint(folder / "net.onnx");
    const graph::Cnn network(*checkpoint.network(), [](std::string_view, std::size_t size) {
        return std::vector<float>(size, 0.0F);
    });
    const std::vector<float> image = weights(24, random);
    RecordingEngine engine;
    network.forward(engine, {image.data(), 1, 24});
    ASSERT_EQ(engine.received.size(), 12U);
    for (std::size_t at = 0; at < 12; ++at) {
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) {
            sum += double{image[(at / 4 + i / 3) * 6 + at % 4 + i % 3]};
        }
        EXPECT_NEAR(double{engine.received[at]}, sum / 6, 1e-5) << at;
    }
}

TEST(Networks, CNN_6_MODEL_7_hostile_sizes_are_refused) {
    using nlohmann::json;
    const SplitNetwork split({{0, "conv", 1}}, 1);
    const auto refusal = [&](const std::filesystem::path& path,
                             const std::function<void(json&)>& change) -> std::string {
        const std::string good = read_file(path);
        const auto replace = [&](const std::string& text) {
            std::filesystem::remove(path);
            write_file(path, text, 0600);
        };
        json changed = json::parse(good);
        change(changed);
        replace(changed.dump());
        std::string message = "accepted";
        try {
            const DavidArtifact david(split.out() / "david");
            const CharlieArtifact charlie(split.out());
            require_same_split(charlie, david);
        } catch (const BadInput& error) {
            message = error.what();
        }
        replace(good);
        return message;
    };
    using Change = std::function<void(json&)>;
    const auto set = [](const char* name, std::size_t value) -> Change {
        return [=](json& file) { file["groups"][0]["convolution"][name] = value; };
    };
    const std::vector<std::pair<Change, std::string>> cases = {
        {set("height", 0), "height"},
        {set("height", 1U << 20U), "\"convolution\""},
        {set("width", SIZE_MAX), "width"},
        {set("kernel_height", 9), "\"convolution\""},
        {set("kernel_width", 2), "patches"},
        {set("stride", 0), "stride"},
        {set("padding", 3), "\"convolution\""},
        {set("dilation", 2), "dilation"},
        {[](json& file) { file["groups"][0]["convolution"] = 3; }, "convolution"},
        {[](json& file) { file["groups"][0]["convolution"].erase("padding"); }, "padding"},
        {[](json& file) { file["groups"][2]["convolution"] = file["groups"][1]["convolution"]; },
         "patches"},
    };
    const auto manifest = split.out() / "david/manifest.json";
    for (const auto& path : {manifest, split.out() / "charlie/plan.json"}) {
        for (const auto& [change, expected] : cases) {
            const std::string message = refusal(path, change);
            EXPECT_NE(message.find(expected), std::string::npos) << expected << ": " << message;
        }
    }
    EXPECT_EQ(refusal(manifest, [](json&) {}), "accepted");
    const auto attention = [](json& file) { file["attention"] = "fused"; };
    EXPECT_NE(
        refusal(split.out() / "charlie/plan.json", attention).find("\"attention\" is unknown"),
        std::string::npos);
    // Well formed, but another convolution than Charlie's.
    EXPECT_NE(refusal(manifest, set("stride", 1)).find("different shapes"), std::string::npos);
    EXPECT_NE(refusal(manifest, [](json& file) { file["groups"][0].erase("convolution"); })
                  .find("different shapes"),
              std::string::npos);
}

TEST(Networks, CNN_7_names_that_mean_two_things_are_refused) {
    TemporaryFolder folder;
    const auto refusal = [&](const std::string& weight, const std::string& bias) -> std::string {
        std::filesystem::remove(folder / "net.onnx");
        write_file(
            folder / "net.onnx",
            model(floats(weight, {2, 1, 1, 1}, {1, 2}) + floats(bias, {2}, {1, 2}) +
                  value_info(11, "x", {1, 1, 2, 2}) + node("Conv", {"x", weight, bias}, "y") +
                  value_info(12, "y", {1, 2, 2, 2})),
            0600);
        try {
            const importing::Checkpoint checkpoint(folder / "net.onnx");
            SplitOptions options;
            options.plan = {{0, "conv", 0}};
            options.out = folder / "out";
            splitting::split_checkpoint(checkpoint, graph::cnn_groups(*checkpoint.network()),
                                        options);
        } catch (const BadInput& error) {
            EXPECT_FALSE(std::filesystem::exists(folder / "out"));
            return error.what();
        }
        std::filesystem::remove_all(folder / "out");
        return "accepted";
    };
    EXPECT_EQ(refusal("K.weight", "K.bias"), "accepted");
    EXPECT_EQ(refusal("K", "b"), "accepted");
    EXPECT_NE(refusal("K", "K.weight").find("K.weight"), std::string::npos);
    EXPECT_NE(refusal("K", "K.A").find("K.A"), std::string::npos);
    EXPECT_NE(refusal("K", "K.A_exponent").find("K.A_exponent"), std::string::npos);
    EXPECT_NE(refusal("K.weight", "K").find("used twice"), std::string::npos);
    EXPECT_NE(refusal("K\n", "b").find("printable"), std::string::npos);
    EXPECT_NE(refusal("K\xff", "b").find("printable"), std::string::npos);
}

}  // namespace
}  // namespace slip::testing
