// A stock of lattice masks where memory runs out: each allocation of a call fails once.
// test: alone, counts
// links: slip_split slip_protocol slip_reference
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "property_tests/generators/failing_memory.hpp"
#include "property_tests/masks/lattice_fixture.hpp"

namespace slip::testing {
namespace {

std::vector<Mask> taken_in_time(LatticeStock& stock, std::size_t count) {
    return in_time([&] {
        std::vector<Mask> masks;
        stock.take(0, count, masks);
        return masks;
    });
}

/// `call` on a stock with room for some blocks, with each allocation failing in turn. A failure
/// leaves no memory that belongs to nobody, and afterwards the stock is as a new one.
void expect_recovery(const std::function<void(LatticeStock&)>& call) {
    const LatticeModel model({{8, 7}});
    LatticeOptions options = on_demand();
    options.memory = 4 * LatticeStock::least_memory(lattice_set, model.groups());
    const auto untouched = model.stock(options);
    EXPECT_EQ(taken_in_time(*untouched, 20).size(), 20U);
    int failures = 0;
    for (long n = 0;; ++n) {
        const auto stock = model.stock(options);
        const Outcome outcome = outcome_at(n, [&] { call(*stock); });
        if (outcome == Outcome::has_fewer) break;
        if (outcome == Outcome::does_without) continue;
        ++failures;
        const std::size_t ready = stock->stock().ready;
        EXPECT_EQ(stock->memory(), ready * lattice_planes * (8 + 7)) << "allocation " << n;
        EXPECT_EQ(taken_in_time(*stock, 20).size(), 20U) << "allocation " << n;
        if (ready > 0) continue;
        EXPECT_EQ(stock->stock().ready, untouched->stock().ready) << "allocation " << n;
        EXPECT_EQ(stock->memory(), untouched->memory()) << "allocation " << n;
    }
    EXPECT_GT(failures, 100) << "so many allocations were made to fail";
}

TEST(StockMemory, SESS_13_MASK_9_an_allocation_that_fails_is_an_error_and_no_hang) {
    expect_recovery([](LatticeStock& stock) {  // a part of a block
        std::vector<Mask> masks;
        stock.take(0, 20, masks);
    });
    expect_recovery([](LatticeStock& stock) {  // whole ones
        std::vector<Mask> masks;
        stock.take(0, 2 * block, masks);
    });
    expect_recovery([](LatticeStock& stock) {  // a whole one, and then a part
        std::vector<Mask> masks;
        stock.take(0, block + 20, masks);
        masks.clear();
        stock.forget((block + 20) * stock.bytes_per_mask(0));
    });
    expect_recovery([](LatticeStock& stock) { stock.wait_until_ready(block); });
}

TEST(StockMemory, SESS_13_the_failure_of_the_thread_that_makes_masks_makes_nobody_wait) {
    const LatticeModel model({{8, 7}});
    int failures = 0;
    for (long n = 0;; n = next_to_fail(n)) {
        const long before = allocations_failed;
        left_in_new_threads = n;
        const auto stock = model.stock({});
        const Outcome outcome = outcome_at(-1, [&] { stock->wait_until_ready(block); });
        left_in_new_threads = -1;
        if (allocations_failed == before) break;
        if (outcome != Outcome::fails) continue;
        ++failures;
        EXPECT_EQ(stock->memory(), stock->stock().ready * stock->bytes_per_mask(0)) << n;
        EXPECT_EQ(taken_in_time(*stock, 20).size(), 20U) << n;
    }
    EXPECT_GT(failures, 30) << "so many allocations were made to fail";
}

TEST(StockMemory, SESS_13_a_stock_that_cannot_be_opened_leaves_nothing) {
    const LatticeModel model({{8, 7}, {3, 5}});
    for (const bool ahead : {false, true}) {
        LatticeOptions options;
        options.ahead = ahead;
        model.stock(options);  // what is made once stays
        int failures = 0;
        for (long n = 0;; ++n) {
            const long before = allocations_alive;
            const Outcome outcome = outcome_at(n, [&] { model.stock(options); });
            EXPECT_EQ(allocations_alive, before) << "allocation " << n;
            if (outcome == Outcome::has_fewer) break;
            failures += outcome == Outcome::fails;
        }
        EXPECT_GT(failures, 10) << "so many allocations were made to fail";
        EXPECT_EQ(taken_in_time(*model.stock(options), 20).size(), 20U);
    }
}

}  // namespace
}  // namespace slip::testing
