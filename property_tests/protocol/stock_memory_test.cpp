// A stock of lattice masks where memory runs out: each allocation of a call fails once.
// test: alone
// links: slip_split slip_protocol slip_reference
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <new>
#include <vector>

#include "property_tests/protocol/lattice_fixture.hpp"

namespace {

/// Allocations of this thread that still succeed; negative: all do.
thread_local long allocations_left = -1;

}  // namespace

void* operator new(std::size_t size) {
    if (allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc();
    }
    if (allocations_left > 0) --allocations_left;
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }

namespace slip::fixture {
namespace {

/// What comes of `call` if its allocation number `n`, from 0, fails.
enum class Outcome { has_fewer, does_without, fails };
template <class Call>
Outcome outcome_at(long n, const Call& call) {
    allocations_left = n;
    try {
        call();
    } catch (const std::bad_alloc&) {
        return Outcome::fails;
    }
    const bool has_fewer = allocations_left >= 0;
    allocations_left = -1;
    return has_fewer ? Outcome::has_fewer : Outcome::does_without;
}

/// Takes in a thread of its own. A hang, which nothing could end, ends the program.
std::vector<Mask> taken_in_time(LatticeStock& stock, std::size_t count) {
    auto taken = std::async(std::launch::async, [&] {
        std::vector<Mask> masks;
        stock.take(0, count, masks);
        return masks;
    });
    if (taken.wait_for(std::chrono::minutes(2)) != std::future_status::ready) {
        ADD_FAILURE() << "the stock waits for a block that nobody makes";
        std::_Exit(1);
    }
    return taken.get();
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

TEST(StockMemory, SESS_8_MASK_9_an_allocation_that_fails_is_an_error_and_no_hang) {
    expect_recovery([](LatticeStock& stock) {  // a part of a block
        std::vector<Mask> masks;
        stock.take(0, 20, masks);
    });
    expect_recovery([](LatticeStock& stock) {  // whole ones
        std::vector<Mask> masks;
        stock.take(0, 2 * block, masks);
    });
    expect_recovery([](LatticeStock& stock) { stock.wait_until_ready(block); });
}

}  // namespace
}  // namespace slip::fixture
