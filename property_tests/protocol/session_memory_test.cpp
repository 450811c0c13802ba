// Sessions in which memory runs out: allocations of a call fail, one each time, secrets' too.
// test: alone, counts
// links: slip_split slip_protocol slip_reference
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>

#include "optimized/base/error.hpp"
#include "property_tests/generators/failing_memory.hpp"
#include "property_tests/masks/lattice_fixture.hpp"

namespace slip::testing {
namespace {

/// Masks and cancellations of this shape are of sizes that no other secret here has.
constexpr std::size_t rows = 11, inputs = 13;
std::atomic<std::size_t> mask_bytes_alive{0};
std::size_t counted(std::size_t size) {
    return size == lattice_planes * rows || size == lattice_planes * inputs ? size : 0;
}

}  // namespace
}  // namespace slip::testing

void* slip::base::allocate_secret(std::size_t size, Children /*children*/) {
    slip::testing::fail_in_turn();
    constexpr std::size_t boundary = 64;
    const std::size_t whole = (size + boundary - 1) / boundary * boundary;
    void* const memory = std::aligned_alloc(boundary, whole);
    if (memory == nullptr) throw std::bad_alloc();
    std::memset(memory, 0, whole);
    slip::testing::mask_bytes_alive += slip::testing::counted(size);
    return memory;
}
void slip::base::free_secret(void* memory, std::size_t size) noexcept {
    slip::testing::mask_bytes_alive -= slip::testing::counted(size);
    std::free(memory);
}

namespace slip::testing {
namespace {

using Call = std::function<void(protocol::CharlieSession&)>;

/// The session is dead, and has sent nothing in giving up but ABORT (SESS-4).
void expect_dead(Connection& connection, const Columns& columns) {
    EXPECT_FALSE(connection.charlie.alive());
    const auto& sent = connection.transport.sent;
    const std::size_t frames = sent.size();
    EXPECT_THROW(connection.charlie.send(0, columns.view()), ProtocolError);
    EXPECT_EQ(sent.size(), frames);
    EXPECT_EQ(std::count(sent.begin(), sent.end(), close_frame()), 0);
    const auto aborts = std::count(sent.begin(), sent.end(), abort_frame());
    EXPECT_LE(aborts, 1);
    if (aborts == 1) {
        EXPECT_EQ(sent.back(), abort_frame());
    }
}

/// Columns that are short enough for lattice masks (MASK-8).
Columns short_columns(const LatticeModel& model) {
    Columns columns = some_columns(model, 3);
    for (std::int16_t& entry : columns.q) entry = static_cast<std::int16_t>(entry % 880);
    return columns;
}

/// Whether a session gets the right products.
bool is_served(Connection& connection, const LatticeModel& model) {
    const Columns columns = short_columns(model);
    return in_time([&] {
        return to_reference(round(connection.charlie, 0, columns, rows)) ==
               exact_products(model.matrices[0], columns);
    });
}

/// `call` of a session, after `before`, with one allocation after the other failing. It ends this
/// session. One that shares the stock goes on, and what the stock counts is the memory of the masks
/// that there are.
void expect_one_death(const Call& before, const Call& call, int least_failures) {
    const LatticeModel model({{rows, inputs}});
    const Columns columns = some_columns(model);
    int failures = 0;
    for (long n = 0;; n = next_to_fail(n)) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const auto stock = model.stock(on_demand());
        Connection other(model, options_for(model, *stock));
        Connection own(model, options_for(model, *stock));
        before(own.charlie);
        const Outcome outcome = outcome_at(n, [&] { call(own.charlie); });
        if (outcome == Outcome::has_fewer) break;
        if (outcome == Outcome::does_without) continue;
        ++failures;
        expect_dead(own, columns);
        EXPECT_EQ(stock->memory(), mask_bytes_alive);
        EXPECT_TRUE(is_served(other, model));
        EXPECT_EQ(stock->memory(), mask_bytes_alive);
    }
    EXPECT_GE(failures, least_failures) << "so many allocations were made to fail";
}

TEST(SessionMemory, SESS_13_a_call_of_charlies_that_fails_ends_his_session_alone) {
    const LatticeModel model({{rows, inputs}});
    const Columns columns = short_columns(model);
    Products products(columns.count * rows);
    const Call nothing = [](auto&) {};
    const Call send = [&](auto& charlie) { charlie.send(0, columns.view()); };
    const Call receive = [&](auto& charlie) {
        charlie.receive({products.data(), columns.count, rows});
    };
    const Call wait = [](auto& charlie) { charlie.wait_until_ready(1); };
    expect_one_death(nothing, send, 60);
    expect_one_death(wait, send, 5);  // there are masks
    expect_one_death(send, receive, 3);
    expect_one_death(nothing, wait, 60);
}

TEST(SessionMemory, SESS_13_a_session_that_cannot_be_opened_harms_no_other) {
    const LatticeModel model({{rows, inputs}});
    const auto stock = model.stock(on_demand());
    Connection other(model, options_for(model, *stock));
    int failures = 0;
    for (long n = 0;; ++n) {
        protocol::DavidSession david(model.david);
        RecordingTransport transport(david);
        const auto options = options_for(model, *stock);
        const Outcome outcome = outcome_at(n, [&] { Charlie(model, transport, options); });
        if (outcome == Outcome::has_fewer) break;
        failures += outcome == Outcome::fails;
        EXPECT_TRUE(is_served(other, model)) << "allocation " << n;
        EXPECT_EQ(stock->memory(), mask_bytes_alive) << "allocation " << n;
    }
    EXPECT_GT(failures, 10) << "so many allocations were made to fail";
}

TEST(SessionMemory, SESS_9_SESS_13_no_david_gets_a_frame_after_CLOSE) {
    const Model model({{rows, inputs}, {inputs, rows}}, Fill::random, 1);
    protocol::DavidModel upper = model.david, lower = model.david;
    upper.weights.pop_back();
    lower.weights.erase(lower.weights.begin());
    int failures = 0;
    for (long n = 0;; ++n) {
        protocol::DavidSession first(upper), second(lower);
        RecordingTransport to_first(first), to_second(second);
        protocol::CharlieSession charlie(
            model.weights(), *model.check, model.david.set,
            {{to_first, upper.digest, 0}, {to_second, lower.digest, 1}}, small_stock());
        const Outcome outcome = outcome_at(n, [&] { charlie.close(); });
        if (outcome == Outcome::has_fewer) break;
        failures += outcome == Outcome::fails;
        EXPECT_FALSE(charlie.alive());
        for (const RecordingTransport* link : {&to_first, &to_second}) {
            EXPECT_LE(link->sent.size(), 2U) << "allocation " << n;  // HELLO, CLOSE or ABORT
        }
    }
    EXPECT_GT(failures, 3) << "so many allocations were made to fail";
}

/// Masks of a session that ended, for whatever reason, are not used again, and their memory is free
/// for others.
TEST(SessionMemory, SESS_13_the_masks_of_a_dead_session_count_no_more) {
    const LatticeModel model({{rows, inputs}});
    const Columns columns = short_columns(model);
    const auto stock = model.stock(on_demand());
    for (int session = 0; session < 3; ++session) {
        Connection own(model, options_for(model, *stock));
        own.charlie.send(0, columns.view());
        EXPECT_EQ(stock->memory(), mask_bytes_alive);
    }
    EXPECT_EQ(stock->memory(), mask_bytes_alive);
}

TEST(SessionMemory, SESS_13_a_david_whose_memory_runs_out_ends_one_session) {
    const Model model({{rows, inputs}}, Fill::random, 1);
    const Residues columns(2 * model.planes() * inputs, 1);
    const Bytes apply = message(FrameType::apply, {0, 0, 2}, columns);
    const std::vector<Bytes> frames{hello_for(model), apply};
    for (std::size_t failing = 0; failing < frames.size(); ++failing) {
        int failures = 0;
        for (long n = 0;; ++n) {
            SCOPED_TRACE("frame " + std::to_string(failing) + ", allocation " + std::to_string(n));
            protocol::DavidSession david(model.david), other(model.david);
            handle(other, hello_for(model));
            for (std::size_t f = 0; f < failing; ++f) handle(david, frames[f]);
            const auto payload = payload_of(frames[failing]);
            const Outcome outcome = outcome_at(n, [&] { david.handle(payload); });
            if (outcome == Outcome::has_fewer) break;
            EXPECT_EQ(outcome, Outcome::fails);
            ++failures;
            EXPECT_TRUE(david.finished());
            EXPECT_THROW(david.handle(payload), ProtocolError);
            EXPECT_EQ(protocol::wire::frame_type(payload_of(handle(other, apply))),
                      FrameType::reply);
        }
        EXPECT_GT(failures, 0);
    }
}

}  // namespace
}  // namespace slip::testing
