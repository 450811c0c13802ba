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
#include "optimized/masks/cancellation.hpp"
#include "optimized/protocol/integrity.hpp"
#include "property_tests/generators/onnx_encoder.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/masks/keystream_fixture.hpp"
#include "reference/convolution.hpp"

namespace slip::testing {
namespace {

using namespace base;
using namespace masks;
using namespace protocol;

/// A small convolution: every window, stride and padding that fits.
Convolution arbitrary_convolution() {
    const auto size = [](const char* name, std::size_t least, std::size_t most) {
        return *any_size(least, most).as(name);
    };
    Convolution shape{
        .H = size("H", 1, 6), .W = size("W", 1, 6), .C = size("C", 1, 3), .N = size("N", 1, 4)};
    shape.kH = size("kH", 1, shape.H);
    shape.kW = size("kW", 1, shape.W);
    shape.padding = size("padding", 0, std::min(shape.kH, shape.kW) - 1);
    shape.stride = size("stride", 1, 3);
    return shape;
}

// --- CNN-3 ---------------------------------------------------------------------------------------

/// From any position on, any number of patches, of images that are so large that they come in
/// several pieces.
TEST(Convolution, CNN_3_pieces_are_parts_of_all_patches) {
    const std::vector<Convolution> shapes = {
        {.H = 9, .W = 7, .C = 3, .kH = 3, .kW = 2, .N = 1, .stride = 2, .padding = 1},
        {.H = 70, .W = 70, .C = 40, .kH = 3, .kW = 3, .N = 1, .stride = 1, .padding = 1},
        {.H = 600, .W = 600, .C = 1, .kH = 550, .kW = 550, .N = 1, .stride = 25, .padding = 0}};
    Random random(1);
    for (const Convolution& shape : shapes) {
        const auto images = fill<std::int16_t>(Fill::random, 2 * shape.inputs(), -9, 9, random);
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

/// Every patch of residues has its planes together, as columns have.
RC_GTEST_PROP(Convolution, CNN_3_patches_of_residues_have_their_planes_together, ()) {
    const Convolution shape = arbitrary_convolution();
    const std::size_t planes = drawn_planes();
    const std::size_t b = *any_size(1, 3).as("images");
    const auto images = drawn_residues(b, shape.inputs(), planes);
    Residues found;
    for_each_multiplied(shape_of(shape), std::span<const std::uint8_t>(images), planes,
                        [&](auto columns, std::size_t first) {
                            RC_ASSERT(first * planes * shape.patch() == found.size());
                            found.insert(found.end(), columns.begin(), columns.end());
                        });
    Residues expected;
    for (std::size_t at = 0; at < b * shape.positions(); ++at) {
        for (std::size_t p = 0; p < planes; ++p) {
            const std::size_t plane = at / shape.positions() * planes + p;
            Residues patch(shape.patch());
            gather_patches<std::uint8_t>(
                shape, std::span(images).subspan(plane * shape.inputs(), shape.inputs()),
                at % shape.positions(), patch);
            expected.insert(expected.end(), patch.begin(), patch.end());
        }
    }
    RC_ASSERT(found == expected);
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
        EXPECT_THROW(kernels::GroupWeights({kernel.data(), 1, 9}, changed), InternalError) << i;
    }
}

// --- CNN-4: David and the cancellation
// -----------------------------------------------------------

RC_GTEST_PROP(Convolution, CNN_4_LIN_1_david_convolves_the_masked_image, ()) {
    const Convolution shape = arbitrary_convolution();
    const std::vector<Shape> shapes = {shape_of(shape)};
    const std::size_t planes = drawn_planes();
    const Model model(shapes, drawn_weights(shapes), planes);
    const std::size_t b = *any_size(1, 3).as("images");
    const auto masked = drawn_residues(b, shape.inputs(), planes);
    Residues reply(b * planes * shape.outputs());
    model.weights()[0].apply(masked, reply, planes);
    const reference::Matrix images = residues_to_reference(masked, b, planes);
    const reference::Matrix replies = residues_to_reference(reply, b, planes);
    const reference::Matrix kernel =
        to_reference(MatrixView<const std::int8_t>(model.weights()[0]));
    const reference::Ring mod_L = ring(planes);
    for (std::size_t c = 0; c < b; ++c) {
        RC_ASSERT(replies.column(c) == reference::davids_convolution(mod_L, to_reference(shape),
                                                                     kernel, images.column(c)));
        RC_ASSERT(replies.column(c) == mod_L.multiply(model.matrices[0], images.column(c)));
    }
}

/// A whole session with several groups, whose second is a matrix: what Charlie gets, and that David
/// multiplies what he was sent by the dense matrix.
RC_GTEST_PROP(Convolution, CNN_4_MASK_3_MASK_4_a_session_gives_the_convolution_of_the_image, ()) {
    const Convolution shape = arbitrary_convolution();
    const std::vector<Shape> shapes = {shape_of(shape), {3, 5}};
    const std::size_t planes = drawn_planes();
    const Model model(shapes, drawn_weights(shapes), planes);
    const SessionOptions options = stock_of(*rc::gen::elementOf(std::vector<std::size_t>{0, 6}));
    std::vector<Residues> replies;
    Connection connection(model, options, [&](Bytes answer) {
        const auto reply = wire::residues_of(answer);
        if (!reply.empty()) replies.emplace_back(reply.begin(), reply.end());
        return answer;
    });
    if (options.stock.depth > 0) connection.charlie.wait_until_ready(6);
    const std::vector<GroupId> groups = {0, 1, 0};
    for (const GroupId group : groups) {
        const Columns images =
            drawn_columns(model.matrices[group], *any_size(1, 3).as("images"), planes);
        const auto products =
            round(connection.charlie, group, images, model.weights()[group].shape().outputs());
        RC_ASSERT(to_reference(products) == exact_products(model.matrices[group], images));
    }
    const auto masked = connection.transport.masked_inputs();
    RC_ASSERT(masked.size() == 3U && replies.size() == 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        const reference::Matrix& w = model.matrices[groups[i]];
        const std::size_t b = masked[i].size() / (planes * w.cols());
        const reference::Matrix x = residues_to_reference(masked[i], b, planes);
        const reference::Matrix y = residues_to_reference(replies[i], b, planes);
        for (std::size_t c = 0; c < b; ++c) {
            RC_ASSERT(y.column(c) == ring(planes).multiply(w, x.column(c)));
        }
    }
}

/// MASK-1, MASK-5: the image is masked once, entry by entry, by a mask of its own; the padding
/// is not sent.
TEST(Convolution, CNN_4_MASK_1_MASK_5_an_image_has_one_mask_for_all_its_patches) {
    const Convolution shape{.H = 4, .W = 5, .C = 2, .kH = 3, .kW = 3, .N = 3, .padding = 1};
    const Model model({shape_of(shape)}, Fill::random, 5);
    SessionOptions options = small_stock();
    const auto key = counting_key();
    options.keys.given_keys = key;
    Connection connection(model, options);
    Random random(6);
    const Columns images = random_columns(model.matrices[0], 3, Fill::random, random);
    round(connection.charlie, 0, images, shape.outputs());
    round(connection.charlie, 0, images, shape.outputs());
    const auto masked = connection.transport.masked_inputs();
    ASSERT_EQ(masked.size(), 2U);
    for (std::size_t message = 0; message < 2; ++message) {
        const reference::Matrix sent = residues_to_reference(masked[message], 3, paper_planes);
        ASSERT_EQ(sent.rows(), shape.inputs());
        for (std::size_t c = 0; c < 3; ++c) {
            const reference::Vector mask =
                residues_to_reference(
                    column_by_definition(key, Purpose::mask, 3 * message + c, shape.inputs()), 1,
                    paper_planes)
                    .column(0);
            reference::Vector expected;
            for (std::size_t j = 0; j < shape.inputs(); ++j) {
                expected.push_back(
                    ring(paper_planes)
                        .add(ring(paper_planes).embed(reference::Integer(images.view().row(c)[j])),
                             mask[j]));
            }
            EXPECT_EQ(sent.column(c), expected) << message << " " << c;
        }
    }
}

// --- CNN-4: the check
// ----------------------------------------------------------------------------

/// One byte of the reply is changed: every position, filter and plane in turn. The session dies.
TEST(Convolution, CNN_4_INTEG_3_a_forged_position_is_rejected_wherever_it_is) {
    const Convolution shape{.H = 4, .W = 3, .C = 2, .kH = 2, .kW = 2, .N = 2, .padding = 1};
    const Model model({shape_of(shape)}, Fill::random, 7);
    Random random(8);
    const Columns images = random_columns(model.matrices[0], 2, Fill::random, random);
    for (std::size_t at = 0; at < 2 * paper_planes * shape.outputs(); ++at) {
        const auto forge = [&](Bytes answer) {
            const std::size_t place = wire::columns_header_bytes + at;
            if (answer.size() <= place) return answer;
            const unsigned prime = primes[at / shape.outputs() % paper_planes];
            const unsigned wrong = (std::to_integer<unsigned>(answer[place]) + 1) % prime;
            answer[place] = static_cast<std::byte>(wrong);
            return answer;
        };
        Connection connection(model, small_stock(), forge);
        Products products(2 * shape.outputs());
        connection.charlie.send(0, images.view());
        EXPECT_THROW(connection.charlie.receive({products.data(), 2, shape.outputs()}),
                     IntegrityError)
            << at;
        EXPECT_EQ(products, Products(2 * shape.outputs())) << "INTEG-5";
        EXPECT_FALSE(connection.charlie.alive());
    }
}

/// The patches of a large image come in several pieces, and the last piece is checked like the
/// first.
TEST(Convolution, CNN_4_INTEG_3_a_forged_residue_is_rejected_in_every_piece_of_an_image) {
    const Convolution shape{
        .H = 70, .W = 70, .C = 40, .kH = 3, .kW = 3, .N = 2, .stride = 1, .padding = 1};
    const auto kernel = WeightGroups::filled({shape_of(shape)}, Fill::random, 11)[0];
    kernels::OffloadedWeights weights;
    weights.emplace_back(MatrixView<const std::int8_t>(kernel.data(), shape.N, shape.patch()),
                         shape);
    const IntegrityCheck check(CheckFile(weights, 2).secret(), kernels::shapes_of(weights), 2);
    Random random(12);
    const auto masked = random_residues(2, shape.inputs(), 2, random);
    Residues reply(2 * 2 * shape.outputs());
    weights[0].apply(masked, reply, 2);
    EXPECT_TRUE(check.accepts(0, masked, reply));
    for (std::size_t from_the_end = 1; from_the_end <= reply.size(); from_the_end += 1399) {
        auto& residue = reply[reply.size() - from_the_end];
        const std::uint8_t honest = residue;
        residue = honest == 0 ? 1 : 0;
        EXPECT_FALSE(check.accepts(0, masked, reply)) << from_the_end;
        residue = honest;
    }
}

/// A David who convolves with other sizes, or for whom two positions have changed places:
/// nothing but the check can see it.
TEST(Convolution, CNN_4_INTEG_3_another_convolution_of_the_same_size_is_rejected) {
    const Convolution shape{.H = 4, .W = 4, .C = 1, .kH = 3, .kW = 3, .N = 2, .padding = 1};
    const Model model({shape_of(shape)}, Fill::random, 9);
    Random random(10);
    const Columns image = random_columns(model.matrices[0], 1, Fill::random, random);
    const auto swap_positions = [&](Bytes answer) {
        if (answer.size() <= wire::columns_header_bytes) return answer;
        for (std::size_t p = 0; p < paper_planes; ++p) {
            const auto plane =
                answer.begin() +
                static_cast<std::ptrdiff_t>(wire::columns_header_bytes + p * shape.outputs());
            std::swap_ranges(plane, plane + 2, plane + 5 * 2);
        }
        return answer;
    };
    Connection connection(model, small_stock(), swap_positions);
    Products products(shape.outputs());
    connection.charlie.send(0, image.view());
    EXPECT_THROW(connection.charlie.receive({products.data(), 1, shape.outputs()}), IntegrityError);
}

// --- sizes and memory
// ----------------------------------------------------------------------------

TEST(Convolution, PARAM_3_messages_are_as_large_as_images_and_outputs_allow) {
    // 2^20 residues of input, 2^19 of output, and patches of 16 times the image.
    const Convolution shape{
        .H = 1024, .W = 1024, .C = 1, .kH = 8, .kW = 8, .N = 8, .stride = 4, .padding = 2};
    ASSERT_TRUE(within_limits(shape));
    const std::vector<std::int8_t> kernel(shape.N * shape.patch());
    DavidModel model;
    model.set = set_of(paper_planes);
    model.weights.emplace_back(MatrixView<const std::int8_t>(kernel.data(), shape.N, shape.patch()),
                               shape);
    const IntegrityCheck check(CheckFile(model.weights, paper_planes).secret(),
                               kernels::shapes_of(model.weights), paper_planes);
    DavidSession david(model);
    InProcessTransport transport(david);
    EXPECT_EQ(david.max_payload(), 40U);
    SessionOptions options = small_stock();
    CharlieSession charlie(model.weights, check, model.set, model.digest, transport, options);
    EXPECT_EQ(charlie.max_columns_of(0),
              parameters::largest_residue_bytes / paper_planes / shape.inputs());
    EXPECT_EQ(david.max_payload(),
              wire::columns_header_bytes - wire::length_bytes + parameters::largest_residue_bytes);
    const std::vector<std::int16_t> image(shape.inputs());
    EXPECT_THROW(charlie.send(0, {image.data(), 1, shape.patch()}), InternalError);
}

/// Charlie keeps and makes no more masks at a time than the options leave memory for.
TEST(Convolution, MASK_3_long_columns_have_fewer_masks_ready) {
    const Convolution shape{.H = 16, .W = 16, .C = 4, .kH = 3, .kW = 3, .N = 2, .padding = 1};
    const Model model({shape_of(shape), {4, 6}}, Fill::random, 12);
    Keystream keys;
    StockOptions options{.depth = 16, .batch = 4};
    const std::size_t a_mask = paper_planes * (shape.inputs() + shape.outputs());
    for (const std::size_t kept : {std::size_t{1}, std::size_t{3}, std::size_t{16}}) {
        options.bytes_per_group = kept < 16 ? kept * a_mask : 1000 * a_mask;
        CancellationStock stock(model.weights(), paper_planes, keys, options);
        stock.wait_until_ready(16);  // ends although the first group never has as many
        std::vector<Mask> masks;
        for (const GroupId group : {0U, 1U}) {
            const auto& w = model.weights()[group];
            stock.take(group, 9, masks);
            ASSERT_EQ(masks.size(), 9U);
            if (group == 0 && kept < 16) {  // the others are made when they are asked for
                EXPECT_LT(masks[kept - 1].index(), kept + 16);
                EXPECT_GE(masks[kept].index(), kept + 16);
            }
            for (Mask& mask : masks) {
                const auto spent = std::move(mask).spend();
                Residues c(paper_planes * w.shape().outputs());
                w.apply(spent.mask.span(), c, paper_planes);
                EXPECT_TRUE(std::equal(c.begin(), c.end(), spent.cancellation.data()));
            }
        }
    }
}

}  // namespace
}  // namespace slip::testing
