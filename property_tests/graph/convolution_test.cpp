// Convolutions through the protocol: the masked image, David's convolution, the check at every
// position. optimized/ against reference/.
#include "optimized/base/convolution.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/split/split_checkpoint.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/files.hpp"
#include "optimized/engines/engines.hpp"
#include "optimized/graph/cnn.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/protocol/integrity.hpp"
#include "property_tests/generators/onnx_encoder.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/generators/temporary_directory.hpp"
#include "reference/convolution.hpp"
#include "reference/encoding.hpp"
#include "reference/parameters.hpp"
#include "reference/session.hpp"

namespace slip::fixture {
namespace {

Kind arbitrary_kind() {
    return *rc::gen::elementOf(std::vector<Kind>(std::begin(kinds), std::end(kinds)));
}

/// A small convolution: every window, stride and padding that fits.
Convolution arbitrary_convolution() {
    const auto size = [](std::size_t least, std::size_t most) {
        return *rc::gen::inRange<std::size_t>(least, most + 1);
    };
    Convolution shape{.H = size(1, 6), .W = size(1, 6), .C = size(1, 3), .N = size(1, 4)};
    shape.kH = size(1, shape.H);
    shape.kW = size(1, shape.W);
    shape.padding = size(0, std::min(shape.kH, shape.kW) - 1);
    shape.stride = size(1, 3);
    return shape;
}

template <class P>
reference::Matrix columns_of(const Residues<P>& residues, std::size_t columns) {
    return columns_to_reference(
        MatrixView<const typename P::Residue>(residues.data(), columns, residues.size() / columns));
}

// --- CNN-3
// ---------------------------------------------------------------------------------------

/// From any position on, any number of patches, of images that are so large that they come in
/// several pieces.
TEST(Convolution, CNN_3_pieces_are_parts_of_all_patches) {
    const std::vector<Convolution> shapes = {
        {.H = 9, .W = 7, .C = 3, .kH = 3, .kW = 2, .N = 1, .stride = 2, .padding = 1},
        {.H = 70, .W = 70, .C = 40, .kH = 3, .kW = 3, .N = 1, .stride = 1, .padding = 1},
        {.H = 600, .W = 600, .C = 1, .kH = 550, .kW = 550, .N = 1, .stride = 25, .padding = 0}};
    Random random(1);
    for (const Convolution& shape : shapes) {
        const auto images = numbers<std::int16_t>(Kind::random, 2 * shape.inputs(), -9, 9, random);
        std::vector<std::int16_t> all(2 * shape.positions() * shape.patch());
        gather_patches<std::int16_t>(shape, images, 0, all);
        std::vector<std::int16_t> pieces;
        std::size_t calls = 0;
        for_each_multiplied(shape_of(shape), std::span<const std::int16_t>(images),
                            [&](auto columns, std::size_t first) {
                                ASSERT_EQ(first * shape.patch(), pieces.size());
                                pieces.insert(pieces.end(), columns.begin(), columns.end());
                                ++calls;
                            });
        EXPECT_EQ(pieces, all);
        EXPECT_GE(calls, shape.H > 9 ? 2U : 1U);
        EXPECT_LE(all.size() / calls, std::max<std::size_t>(1U << 18U, shape.patch()));
        for (const std::size_t first : {std::size_t{1}, shape.positions() - 1, shape.positions()}) {
            std::vector<std::int16_t> two(2 * shape.patch());
            gather_patches<std::int16_t>(shape, images, first, two);
            const auto expected = all.begin() + static_cast<std::ptrdiff_t>(first * shape.patch());
            EXPECT_TRUE(std::equal(two.begin(), two.end(), expected));
        }
    }
}

TEST(Convolution, PARAM_3_sizes_beyond_the_limits_are_told_apart) {
    const Convolution good{.H = 1024, .W = 1024, .C = 1, .kH = 3, .kW = 3, .N = 1, .padding = 1};
    EXPECT_TRUE(within_limits(good));
    const std::vector<std::function<void(Convolution&)>> bad = {
        [](Convolution& c) { c.H = 1025; },
        [](Convolution& c) { c.C = 2; },
        [](Convolution& c) { c.N = 2; },
        [](Convolution& c) { c.H = 0; },
        [](Convolution& c) { c.stride = 0; },
        [](Convolution& c) { c.padding = 3; },
        [](Convolution& c) { c.kH = 1027; },
        [](Convolution& c) { c.kW = 0; },
        [](Convolution& c) { c.N = 0; },
        [](Convolution& c) { c.C = SIZE_MAX; },
        [](Convolution& c) { c.padding = SIZE_MAX / 2; },
        [](Convolution& c) { c.stride = SIZE_MAX; }};
    for (std::size_t i = 0; i < bad.size(); ++i) {
        Convolution changed = good;
        bad[i](changed);
        EXPECT_FALSE(within_limits(changed)) << i;
        const std::vector<std::int8_t> kernel(9);
        EXPECT_THROW(GroupWeights({kernel.data(), 1, 9}, changed), InternalError) << i;
    }
}

// --- CNN-4: David and the cancellation
// -----------------------------------------------------------

PROFILE_PROP(Convolution, CNN_4_LIN_1_david_convolves_the_masked_image) {
    const Convolution shape = arbitrary_convolution();
    const Model model({shape_of(shape)}, arbitrary_kind(), *rc::gen::arbitrary<std::uint64_t>(),
                      profile_of<P>);
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const std::size_t b = uniform<std::size_t>(random, 1, 3);
    const auto masked =
        numbers<typename P::Residue>(arbitrary_kind(), b * shape.inputs(), 0, P::p - 1, random);
    Residues<P> reply(b * shape.outputs());
    model.weights()[0].template apply<P>(masked, reply);
    const reference::Matrix images = columns_of<P>(masked, b);
    const reference::Matrix replies = columns_of<P>(reply, b);
    const reference::Matrix kernel =
        to_reference(MatrixView<const std::int8_t>(model.weights()[0]));
    for (std::size_t c = 0; c < b; ++c) {
        RC_ASSERT(replies.column(c) == reference::davids_convolution(ring<P>(), to_reference(shape),
                                                                     kernel, images.column(c)));
        RC_ASSERT(replies.column(c) == ring<P>().multiply(model.matrices[0], images.column(c)));
    }
}

/// A whole session with several groups, whose second is a matrix: what Charlie gets, what David
/// has seen, and what the reference's David answers to the same frames.
PROFILE_PROP(Convolution, CNN_4_MASK_3_MASK_4_a_session_gives_the_convolution_of_the_image) {
    const Convolution shape = arbitrary_convolution();
    const Model model({shape_of(shape), {3, 5}}, arbitrary_kind(),
                      *rc::gen::arbitrary<std::uint64_t>(), profile_of<P>);
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    SessionOptions options = pool_of(*rc::gen::elementOf(std::vector<std::size_t>{0, 6}));
    const auto key = counting_key();
    options.keys.test_keys = key;
    reference::DavidSession expected_david(reference_profile(profile_of<P>), model.david.digest,
                                           model.matrices);
    Connection<P> connection(model, options);
    if (options.pool.depth > 0) connection.charlie.wait_until_ready(6);
    for (const GroupId group : {0U, 1U, 0U}) {
        const Columns images =
            random_columns(model.matrices[group], uniform<std::size_t>(random, 1, 3),
                           arbitrary_kind(), random, profile_of<P>);
        const auto products =
            round<P>(connection.charlie, group, images, model.weights()[group].shape().outputs());
        RC_ASSERT(to_reference(products) == exact_products(model.matrices[group], images));
    }
    for (const Bytes& frame : connection.transport.sent) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(frame.data());
        const auto answer = expected_david.receive({bytes, bytes + frame.size()});
        RC_ASSERT(answer.has_value());
    }
    RC_ASSERT(!expected_david.dead());
    const auto masked = connection.transport.template masked_inputs<P>();
    const auto views = expected_david.transcript().masked_inputs(expected_david.shapes());
    RC_ASSERT(masked.size() == views.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
        RC_ASSERT(columns_of<P>(masked[i], views[i].cols()) == views[i]);
    }
}

/// MASK-1, MASK-5: the image is masked once, entry by entry, by a mask of its own; the padding
/// is not sent.
PROFILE_TEST(Convolution, CNN_4_MASK_1_MASK_5_an_image_has_one_mask_for_all_its_patches) {
    const Convolution shape{.H = 4, .W = 5, .C = 2, .kH = 3, .kW = 3, .N = 3, .padding = 1};
    const Model model({shape_of(shape)}, Kind::random, 5, profile_of<P>);
    SessionOptions options = small_pool();
    const auto key = counting_key();
    options.keys.test_keys = key;
    Connection<P> connection(model, options);
    Random random(6);
    const Columns images =
        random_columns(model.matrices[0], 3, Kind::random, random, profile_of<P>);
    round<P>(connection.charlie, 0, images, shape.outputs());
    round<P>(connection.charlie, 0, images, shape.outputs());
    const auto masked = connection.transport.template masked_inputs<P>();
    ASSERT_EQ(masked.size(), 2U);
    for (std::size_t message = 0; message < 2; ++message) {
        const reference::Matrix sent = columns_of<P>(masked[message], 3);
        ASSERT_EQ(sent.rows(), shape.inputs());
        for (std::size_t c = 0; c < 3; ++c) {
            const reference::Vector mask =
                reference::uniform_residues(ring<P>(), to_reference_key(key), reference::Tag::mask,
                                            3 * message + c, shape.inputs());
            reference::Vector expected;
            for (std::size_t j = 0; j < shape.inputs(); ++j) {
                expected.push_back(ring<P>().add(
                    ring<P>().embed(reference::Integer(images.view().row(c)[j])), mask[j]));
            }
            EXPECT_EQ(sent.column(c), expected) << message << " " << c;
        }
    }
}

// --- CNN-4: the check
// ----------------------------------------------------------------------------

/// One residue of the reply is changed: every position and filter in turn. The session dies.
PROFILE_TEST(Convolution, CNN_4_INTEG_3_a_forged_position_is_rejected_wherever_it_is) {
    const Convolution shape{.H = 4, .W = 3, .C = 2, .kH = 2, .kW = 2, .N = 2, .padding = 1};
    const Model model({shape_of(shape)}, Kind::random, 7, profile_of<P>);
    Random random(8);
    const Columns images =
        random_columns(model.matrices[0], 2, Kind::random, random, profile_of<P>);
    for (std::size_t at = 0; at < 2 * shape.outputs(); ++at) {
        const auto forge = [&](Bytes answer) {
            const std::size_t place = wire::columns_header_bytes + at * sizeof(typename P::Residue);
            if (answer.size() > place) answer[place] ^= std::byte{1};
            return answer;
        };
        Connection<P> connection(model, small_pool(), forge);
        Products<P> products(2 * shape.outputs());
        connection.charlie.send(0, images.view());
        EXPECT_THROW(connection.charlie.receive({products.data(), 2, shape.outputs()}),
                     IntegrityError)
            << at;
        EXPECT_EQ(products, Products<P>(2 * shape.outputs())) << "INTEG-5";
        EXPECT_FALSE(connection.charlie.alive());
    }
}

/// A David who convolves with other sizes, or for whom two positions have changed places:
/// nothing but the check can see it.
PROFILE_TEST(Convolution, CNN_4_INTEG_3_another_convolution_of_the_same_size_is_rejected) {
    const Convolution shape{.H = 4, .W = 4, .C = 1, .kH = 3, .kW = 3, .N = 2, .padding = 1};
    const Model model({shape_of(shape)}, Kind::random, 9, profile_of<P>);
    Random random(10);
    const Columns image = random_columns(model.matrices[0], 1, Kind::random, random, profile_of<P>);
    const auto swap_positions = [&](Bytes answer) {
        const auto begin = answer.begin() + wire::columns_header_bytes;
        constexpr std::ptrdiff_t position = 2 * sizeof(typename P::Residue);
        if (answer.size() > wire::columns_header_bytes) {
            std::swap_ranges(begin, begin + position, begin + 5 * position);
        }
        return answer;
    };
    Connection<P> connection(model, small_pool(), swap_positions);
    Products<P> products(shape.outputs());
    connection.charlie.send(0, image.view());
    EXPECT_THROW(connection.charlie.receive({products.data(), 1, shape.outputs()}), IntegrityError);
}

// --- sizes and memory
// ----------------------------------------------------------------------------

PROFILE_TEST(Convolution, PARAM_3_messages_are_as_large_as_images_and_outputs_allow) {
    // 2^20 residues of input, 2^19 of output, and patches of 16 times the image.
    const Convolution shape{
        .H = 1024, .W = 1024, .C = 1, .kH = 8, .kW = 8, .N = 8, .stride = 4, .padding = 2};
    ASSERT_TRUE(within_limits(shape));
    const std::vector<std::int8_t> kernel(shape.N * shape.patch());
    DavidModel model;
    model.profile = profile_of<P>;
    model.weights.emplace_back(MatrixView<const std::int8_t>(kernel.data(), shape.N, shape.patch()),
                               shape);
    const auto david = make_david_session(model);
    InProcessTransport transport(*david);
    EXPECT_EQ(david->max_payload(), 40U);
    SessionOptions options = small_pool();
    CharlieSession<P> charlie(model.weights, model.digest, transport, options);
    EXPECT_EQ(charlie.max_columns_of(0),
              parameters::largest_residue_bytes / sizeof(typename P::Residue) / shape.inputs());
    EXPECT_EQ(david->max_payload(),
              wire::columns_header_bytes - wire::length_bytes + parameters::largest_residue_bytes);
    const std::vector<std::int16_t> image(shape.inputs());
    EXPECT_THROW(charlie.send(0, {image.data(), 1, shape.patch()}), InternalError);
}

/// Charlie keeps and makes no more masks at a time than the options leave memory for.
PROFILE_TEST(Convolution, MASK_3_long_columns_have_fewer_masks_ready) {
    const Convolution shape{.H = 16, .W = 16, .C = 4, .kH = 3, .kW = 3, .N = 2, .padding = 1};
    const Model model({shape_of(shape), {4, 6}}, Kind::random, 12, profile_of<P>);
    KeyStream keys;
    PoolOptions options{.depth = 16, .batch = 4};
    const std::size_t a_mask = (shape.inputs() + shape.outputs()) * sizeof(typename P::Residue);
    for (const std::size_t kept : {std::size_t{1}, std::size_t{3}, std::size_t{16}}) {
        options.bytes_per_group = kept < 16 ? kept * a_mask : 1000 * a_mask;
        CancellationPool<P> pool(model.weights(), keys, options);
        pool.wait_until_ready(16);  // ends although the first group never has as many
        std::vector<Mask<P>> masks;
        for (const GroupId group : {0U, 1U}) {
            const auto& w = model.weights()[group];
            pool.take(group, 9, masks);
            ASSERT_EQ(masks.size(), 9U);
            if (group == 0 && kept < 16) {  // the others are made when they are asked for
                EXPECT_LT(masks[kept - 1].index(), kept + 16);
                EXPECT_GE(masks[kept].index(), kept + 16);
            }
            for (Mask<P>& mask : masks) {
                const auto spent = std::move(mask).spend();
                Residues<P> c(w.shape().outputs());
                w.template apply<P>(spent.mask.span(), c);
                EXPECT_TRUE(std::equal(c.begin(), c.end(), spent.cancellation.data()));
            }
        }
    }
}

// --- whole networks
// ------------------------------------------------------------------------------

using namespace onnx_encoder;

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
    SplitNetwork(Profile profile, const Plan& plan, std::uint64_t seed) {
        Random random(seed);
        write_file(folder / "net.onnx", network_file(random), 0600);
        const Checkpoint checkpoint(folder / "net.onnx");
        SplitOptions options;
        options.plan = plan;
        options.out = folder / "out";
        options.profile = profile;
        split_checkpoint(checkpoint, cnn_groups(*checkpoint.network()), options);
    }
    std::filesystem::path out() const { return folder / "out"; }

    testing::TemporaryDirectory folder;
};

std::vector<float> lookup(const SafetensorsFile& file, std::string_view name, std::size_t size) {
    auto values = to_floats(file.tensor(name));
    EXPECT_EQ(values.size(), size);
    return values;
}

/// The first layer with the reference alone: dense matrices of W_D, A and B by patches (CNN-5).
std::vector<float> reference_layer(const CharlieGroup& group, const GroupWeights& w,
                                   std::span<const float> image) {
    const CharlieMember& member = group.members[0];
    const auto shape = to_reference(*group.convolution);
    const auto [q, scale] = reference::quantise(image, group.qa_max);
    const reference::Vector davids =
        reference::convolve(shape, to_reference(MatrixView<const std::int8_t>(w)), q);
    const reference::Vector charlies =
        reference::charlies_convolution(shape, to_reference(member.a), to_reference(member.b), q);
    reference::Vector y;
    std::vector<float> row_scales;
    for (std::size_t i = 0; i < davids.size(); ++i) {
        y.push_back((davids[i] << reference::fraction_bits) + charlies[i]);
        row_scales.push_back(member.row_scale[i % shape.N]);
    }
    return reference::dequantise(y, row_scales, scale);
}

PROFILE_TEST(Networks, CNN_5_CNN_6_LIN_4_hybrid_equals_unsplit_and_the_reference) {
    const std::vector<Plan> plans = {
        {{0, "conv", 3}, {1, "conv", 2}, {2, "linear", 1}}, {{1, "conv", 1}}, {{0, "conv", 0}}};
    for (std::size_t p = 0; p < plans.size(); ++p) {
        const SplitNetwork split(profile_of<P>, plans[p], p);
        const CharlieArtifact charlie(split.out());
        const DavidArtifact david(split.out() / "david");
        ASSERT_NE(charlie.network(), nullptr);
        EXPECT_THROW(charlie.config(), BadInput);
        const OffloadedWeights stacked = david.weights();
        const Cnn graph(*charlie.network(), [&](std::string_view name, std::size_t size) {
            return lookup(charlie.parameters(), name, size);
        });
        const DavidModel model{stacked, david.digest(), david.profile()};
        const auto david_session = make_david_session(model);
        InProcessTransport transport(*david_session);
        const auto hybrid = make_hybrid_engine(charlie, stacked, transport, small_pool());
        UnsplitEngine unsplit(charlie, david);

        Random random(p);
        std::vector<float> images = weights(5 * 60, random);
        std::fill_n(images.begin() + 60, 60, 0.0F);
        const MatrixView<const float> view(images.data(), 5, 60);
        EXPECT_EQ(graph.forward(*hybrid, view), graph.forward(unsplit, view));
        EXPECT_EQ(hybrid->statistics().session.rounds, 3U);
        EXPECT_EQ(hybrid->statistics().session.columns, 15U);

        const CharlieGroup& first = charlie.groups()[0];
        std::vector<float> expected;
        for (std::size_t t = 0; t < 5; ++t) {
            const auto y = reference_layer(first, stacked[0], view.row(t));
            expected.insert(expected.end(), y.begin(), y.end());
        }
        std::vector<float> computed(5 * first.product().outputs());
        const std::array outputs{MatrixView<float>(computed.data(), 5, first.product().outputs())};
        hybrid->apply(0, view, outputs);
        EXPECT_EQ(computed, expected);
        EXPECT_GT(hybrid->statistics().david_multiplications, 0U);
    }
}

TEST(Networks, CNN_6_MODEL_7_hostile_sizes_are_refused) {
    using nlohmann::json;
    const SplitNetwork split(Profile::p31, {{0, "conv", 1}}, 1);
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
    testing::TemporaryDirectory folder;
    const auto refusal = [&](const std::string& weight, const std::string& bias) -> std::string {
        std::filesystem::remove(folder / "net.onnx");
        write_file(
            folder / "net.onnx",
            model(floats(weight, {2, 1, 1, 1}, {1, 2}) + floats(bias, {2}, {1, 2}) +
                  value_info(11, "x", {1, 1, 2, 2}) + node("Conv", {"x", weight, bias}, "y") +
                  value_info(12, "y", {1, 2, 2, 2})),
            0600);
        try {
            const Checkpoint checkpoint(folder / "net.onnx");
            SplitOptions options;
            options.plan = {{0, "conv", 0}};
            options.out = folder / "out";
            split_checkpoint(checkpoint, cnn_groups(*checkpoint.network()), options);
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
    EXPECT_NE(refusal("K.weight", "K").find("used twice"), std::string::npos);
    EXPECT_NE(refusal("K\n", "b").find("printable"), std::string::npos);
    EXPECT_NE(refusal("K\xff", "b").find("printable"), std::string::npos);
}

}  // namespace
}  // namespace slip::fixture
