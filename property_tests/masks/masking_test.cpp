// Keys, streams, masks, cancellations and the stock of optimized/, against reference/.
// test: alone
// links: slip_masks slip_kernels slip_reference
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include "optimized/kernels/registry.hpp"
#include "optimized/masks/cancellation.hpp"
#include "optimized/masks/keystream.hpp"
#include "property_tests/masks/keystream_fixture.hpp"
#include "reference/masking.hpp"

namespace slip::testing {
namespace {

using namespace masks;

static_assert(!std::is_copy_constructible_v<Mask> && !std::is_copy_assignable_v<Mask>);

Mask small_mask() {
    Mask::Residues r(3);
    Mask::Residues c(2);
    r[0] = 5;
    c[1] = 6;
    return {9, std::move(r), std::move(c)};
}

TEST(Masks, MASK_5_a_mask_is_spent_once) {
    Mask mask = small_mask();
    const auto spent = std::move(mask).spend();
    EXPECT_EQ(spent.index, 9U);
    EXPECT_EQ(spent.mask[0], 5U);
    EXPECT_EQ(spent.cancellation[1], 6U);
    EXPECT_FALSE(mask.spendable());                        // NOLINT: on purpose
    EXPECT_THROW(std::move(mask).spend(), InternalError);  // NOLINT: on purpose
}

TEST(Masks, MASK_5_a_mask_that_was_moved_from_cannot_be_spent) {
    Mask mask = small_mask();
    Mask other = std::move(mask);
    EXPECT_THROW(std::move(mask).spend(), InternalError);  // NOLINT: on purpose
    EXPECT_TRUE(other.spendable());
    mask = std::move(other);
    EXPECT_THROW(std::move(other).spend(), InternalError);  // NOLINT: on purpose
    EXPECT_NO_THROW(std::move(mask).spend());
    EXPECT_THROW(std::move(Mask()).spend(), InternalError);
}

/// Every kernel backend of this build, so that a disagreement names it.
RC_GTEST_PROP(Masks, MASK_1_MASK_2_MASK_4_equal_the_reference_on_every_backend, ()) {
    const std::size_t planes = drawn_planes();
    const auto n = *any_size(1, 69).as("n");
    const auto q = *any_list<std::int16_t>(n, -32767, 32767).as("q");
    const auto r = drawn_residues(1, n, planes);
    const reference::Ring mod_L = ring(planes);
    const reference::Vector mask = residues_to_reference(r, 1, planes).column(0);
    const reference::Vector expected = reference::mask(mod_L, to_reference(q), mask);
    const reference::Vector back = reference::unmask(mod_L, expected, mask);
    for (const kernels::Backend* backend : kernels::available()) {
        Residues masked(r.size());
        backend->mask(q.data(), r.data(), n, planes, masked.data());
        RC_ASSERT(residues_to_reference(masked, 1, planes).column(0) == expected);
        // MASK-2: r -> x~ has the inverse x~ -> x~ - q, which unmasking with c = r computes.
        Products lifted(n);
        backend->unmask(masked.data(), r.data(), n, planes, lifted.data());
        RC_ASSERT(to_reference(lifted) == back);
        // Where L leaves room for q, that is q.
        RC_ASSERT(planes < 3 || std::equal(lifted.begin(), lifted.end(), q.begin()));
    }
}

RC_GTEST_PROP(Stock, MASK_3_masks_and_cancellations_equal_the_reference, ()) {
    const Shape shape{*any_size(1, 11).as("rows"), *any_size(1, 11).as("n")};
    const std::vector<Shape> shapes = {shape, {3, 4}};
    const std::size_t planes = drawn_planes();
    const WeightGroups groups(shapes, drawn_weights(shapes));
    const auto depth = *rc::gen::element<std::size_t>(0, 1, 8).as("depth");
    const auto batch = *any_size(1, 5).as("batch");
    const auto count = *any_size(1, 13).as("masks");
    const auto key = counting_key(3);
    Keystream keys = stream_under(key);
    CancellationStock stock(groups.offloaded, planes, keys, {.depth = depth, .batch = batch});
    std::vector<Mask> masks;
    stock.take(0, count, masks);
    RC_ASSERT(masks.size() == count);
    for (Mask& mask : masks) {
        const auto spent = std::move(mask).spend();
        const Residues r = column_by_definition(key, Purpose::mask, spent.index, shape.n, planes);
        RC_ASSERT(std::equal(r.begin(), r.end(), spent.mask.data(),
                             spent.mask.data() + spent.mask.size()));
        RC_ASSERT(residues_to_reference(spent.cancellation.span(), 1, planes).column(0) ==
                  reference::cancellation(ring(planes), groups.matrices[0],
                                          residues_to_reference(r, 1, planes).column(0)));
    }
}

/// Takes at random while the background thread fills, and until well after a rekey.
TEST(Stock, MASK_5_RAND_5_no_index_and_no_mask_is_handed_out_twice) {
    const WeightGroups groups({{7, 5}, {3, 9}, {20, 4}}, Fill::random, 4);
    for (const std::size_t depth : std::array<std::size_t, 3>{0, 3, 32}) {
        Keystream keys({.blocks_per_key = 100});
        CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = depth, .batch = 5});
        Random random(depth);
        std::set<std::uint64_t> indices;
        std::set<Residues> contents;
        std::size_t taken = 0;
        std::vector<Mask> masks;
        for (int i = 0; i < 400; ++i) {
            const std::size_t count = uniform<std::size_t>(random, 1, 12);
            stock.take(uniform<std::uint32_t>(random, 0, 2), count, masks);
            ASSERT_EQ(masks.size(), count);
            taken += count;
            std::uint64_t last = 0;
            for (std::size_t c = 0; c < count; ++c) {
                const auto spent = std::move(masks[c]).spend();
                EXPECT_TRUE(c == 0 || spent.index > last);
                last = spent.index;
                indices.insert(spent.index);
                contents.emplace(spent.mask.span().begin(), spent.mask.span().end());
            }
        }
        EXPECT_EQ(indices.size(), taken);
        EXPECT_EQ(contents.size(), taken);
        // The index rises by one per mask: none is skipped but those that are still in the stock.
        EXPECT_EQ(*indices.begin(), 0U);
        EXPECT_LT(*indices.rbegin(), taken + 3 * (depth + 5));
    }
}

TEST(Stock, MASK_5_on_demand_the_index_rises_by_one_from_zero_over_all_groups) {
    const WeightGroups groups({{2, 3}, {4, 2}}, Fill::random, 4);
    Keystream keys;
    CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = 0, .batch = 4});
    std::uint64_t expected = 0;
    std::vector<Mask> masks;
    for (const auto& [group, count] : {std::pair{0U, 3U}, {1U, 9U}, {0U, 1U}, {1U, 4U}}) {
        stock.take(group, count, masks);
        for (const Mask& mask : masks) EXPECT_EQ(mask.index(), expected++);
    }
}

TEST(Stock, MASK_6_nothing_can_be_taken_after_destroy) {
    const WeightGroups groups({{2, 3}}, Fill::random, 4);
    Keystream keys;
    CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = 8, .batch = 4});
    stock.wait_until_ready(8);
    const double spent = stock.statistics().seconds;
    EXPECT_GT(spent, 0);
    stock.destroy();
    std::vector<Mask> masks;
    EXPECT_THROW(stock.take(0, 1, masks), InternalError);
    EXPECT_THROW(stock.wait_until_ready(1), InternalError);
    EXPECT_TRUE(masks.empty());
    EXPECT_GE(stock.statistics().seconds, spent);
    stock.destroy();  // harmless
}

TEST(Stock, MASK_5_bad_requests_are_refused) {
    const WeightGroups groups({{2, 3}}, Fill::random, 4);
    Keystream keys;
    EXPECT_THROW(CancellationStock(groups.offloaded, paper_planes, keys, {.depth = 1, .batch = 0}),
                 InternalError);
    CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = 0, .batch = 1});
    std::vector<Mask> masks;
    EXPECT_THROW(stock.take(1, 1, masks), InternalError);
}

TEST(Stock, MASK_3_a_key_that_was_destroyed_too_early_is_an_error_and_no_hang) {
    const WeightGroups groups({{2, 3}}, Fill::random, 4);
    Keystream keys;
    CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = 0, .batch = 1});
    keys.destroy();
    std::vector<Mask> masks;
    EXPECT_THROW(stock.take(0, 1, masks), InternalError);
}

}  // namespace
}  // namespace slip::testing
