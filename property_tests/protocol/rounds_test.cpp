// Whole rounds of a session: what David receives, what Charlie gets of it, and what a forked child
// cannot do.
// test: alone
// links: slip_protocol slip_reference
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <vector>

#include "property_tests/generators/forks.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/masks/keystream_fixture.hpp"
#include "reference/masking.hpp"

namespace slip::testing {
namespace {

using masks::Purpose;
using protocol::SessionOptions;

/// What David receives is q + r under the given key, and what Charlie gets is W_D q over Z.
RC_GTEST_PROP(Rounds, MASK_1_MASK_4_through_a_session, ()) {
    const Shape shape{*any_size(1, 15).as("rows"), *any_size(1, 15).as("n")};
    const std::size_t planes = drawn_planes();
    const Model model({shape}, drawn_weights({shape}), planes);
    const auto key = counting_key(20);
    SessionOptions options = small_stock();
    options.keys.given_keys = key;
    Connection connection(model, options);
    std::uint64_t index = 0;
    for (int message = 0; message < 3; ++message) {
        const Columns columns =
            drawn_columns(model.matrices[0], *any_size(1, 5).as("columns"), planes);
        RC_ASSERT(to_reference(round(connection.charlie, 0, columns, shape.rows)) ==
                  exact_products(model.matrices[0], columns));
        const reference::Matrix masked = residues_to_reference(
            connection.transport.masked_inputs().back(), columns.count, planes);
        for (std::size_t c = 0; c < columns.count; ++c) {
            const Residues r = column_by_definition(key, Purpose::mask, index++, shape.n, planes);
            RC_ASSERT(masked.column(c) ==
                      reference::mask(ring(planes), to_reference(columns.view().row(c)),
                                      residues_to_reference(r, 1, planes).column(0)));
        }
    }
}

/// The largest products that ENC-4 allows, of both signs.
TEST(Rounds, MASK_4_is_exact_at_the_bound) {
    const std::size_t n = 516;  // 127 * 32767 * 516 is above (L - 1) / 2
    std::vector<std::int8_t> weights(2 * n, 127);
    std::fill(weights.begin() + static_cast<std::ptrdiff_t>(n), weights.end(), std::int8_t{-127});
    const Model model({{2, n}}, {weights});
    const std::int16_t most = largest_activation(model.matrices[0], paper_planes);
    EXPECT_LT(most, 32767);
    Connection connection(model);
    for (const int sign : {1, -1}) {
        const Columns columns(1, n,
                              std::vector<std::int16_t>(n, static_cast<std::int16_t>(sign * most)));
        EXPECT_EQ(to_reference(round(connection.charlie, 0, columns, 2)),
                  exact_products(model.matrices[0], columns));
    }
}

TEST(Rounds, MASK_1_an_activation_out_of_range_is_refused_before_anything_is_sent) {
    const Model model({{2, 3}}, Fill::random, 1);
    Connection connection(model);
    const Columns columns(1, 3, {0, -32768, 5});
    EXPECT_THROW(connection.charlie.send(0, columns.view()), InternalError);
    EXPECT_TRUE(connection.transport.masked_inputs().empty());
}

TEST(Rounds, RAND_5_a_key_of_a_session_serves_2_to_32_blocks) {
    EXPECT_EQ(SessionOptions{}.keys.blocks_per_key, std::uint64_t{1} << 32);
}

TEST(Rounds, RAND_6_a_forked_child_neither_sends_nor_ends_the_session) {
    const Model model({{6, 5}}, Fill::random, 1);
    Random random(2);
    Connection connection(model, stock_of(8));
    const Columns columns = random_columns(model.matrices[0], 1, Fill::random, random);
    EXPECT_TRUE(holds_in_a_fork([&] {
        const std::size_t sent = connection.transport.sent.size();
        const bool refused =
            throws_internal_error([&] { connection.charlie.send(0, columns.view()); }) &&
            throws_internal_error([&] { connection.charlie.close(); });
        std::destroy_at(&connection.charlie);
        return refused && connection.transport.sent.size() == sent;
    }));
    EXPECT_EQ(to_reference(round(connection.charlie, 0, columns, 6)),
              exact_products(model.matrices[0], columns));
}

TEST(Rounds, RAND_6_a_forked_child_does_not_abort_the_message_of_its_parent) {
    const Model model({{6, 5}}, Fill::random, 1);
    Random random(2);
    Connection connection(model, stock_of(8));
    const Columns columns = random_columns(model.matrices[0], 1, Fill::random, random);
    connection.charlie.send(0, columns.view());
    Products products(6);
    EXPECT_TRUE(holds_in_a_fork([&] {
        const std::size_t sent = connection.transport.sent.size();
        const bool refused = throws_internal_error([&] {
            connection.charlie.receive({products.data(), 1, 6});
        });
        std::destroy_at(&connection.charlie);
        return refused && connection.transport.sent.size() == sent;
    }));
    connection.charlie.receive({products.data(), 1, 6});
    EXPECT_EQ(to_reference(products), exact_products(model.matrices[0], columns));
}

}  // namespace
}  // namespace slip::testing
