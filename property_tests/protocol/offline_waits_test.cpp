// Waits of sessions with offline Davids, and reconnecting.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>

#include "property_tests/protocol/offline_server.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
using namespace std::chrono_literals;
using kernels::P31;

/// Ends the test program if a test hangs.
struct Deadline {
    Deadline() { ::alarm(100); }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    ~Deadline() { ::alarm(0); }
};

/// A step that needs masks which were not requested before has to wait. It goes on at the end of an
/// interval, although the masks arrive earlier.
TEST(OfflineWaits, OFF_14_a_step_waits_a_whole_number_of_intervals) {
    constexpr auto interval = 50ms;
    const Model model({{5, 3}}, Fill::random, 10);
    std::atomic<bool> held = false;
    OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t, Bytes answer) {
        while (held) std::this_thread::sleep_for(1ms);
        return answer;
    });
    SessionOptions options = with_offline({&server}, 8);
    options.offline.interval = interval;
    Connection<P31> connection(model, options);
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 1));
    const SupplyStatistics before = connection.charlie.statistics().supply;
    const auto start = std::chrono::steady_clock::now();
    connection.charlie.begin_step(8);
    const auto waited = std::chrono::steady_clock::now() - start;
    const SupplyStatistics after = connection.charlie.statistics().supply;
    EXPECT_EQ(after.waits, before.waits + 1);
    const auto intervals = std::lround((after.waiting_seconds - before.waiting_seconds) / 0.05);
    EXPECT_GE(intervals, 1);
    EXPECT_GE(waited, intervals * interval);

    held = true;
    EXPECT_TRUE(gives_exact_products(connection.charlie, model, 8));
    EXPECT_THROW(connection.charlie.send(0, some_columns(model, 8).view()), InternalError)
        << "a message outside a step is refused, not waited for";
    held = false;
}

TEST(OfflineWaits, OFF_14_SESS_8_no_step_waits_longer_than_the_patience) {
    const Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 10);
    std::atomic<bool> held = true;
    OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
        while (held && frame > 0) std::this_thread::sleep_for(1ms);
        return answer;
    });
    SessionOptions options = with_offline({&server});
    options.offline.interval = 2ms;
    options.offline.patience = 9ms;
    Connection<P31> connection(model, options);
    std::string said;
    try {
        connection.charlie.begin_step(1);
    } catch (const ProtocolError& error) {
        said = error.what();
    }
    held = false;
    EXPECT_NE(said.find("did not come in time"), std::string::npos) << said;
    const SupplyStatistics supply = connection.charlie.statistics().supply;
    EXPECT_EQ(supply.waits, 1U);
    EXPECT_EQ(std::lround(supply.waiting_seconds / 0.002), 4);
    EXPECT_FALSE(connection.charlie.alive());
}

/// The life ends before any D2 has sent READY.
TEST(OfflineWaits, OFF_11_a_stock_is_not_opened_in_a_life_that_is_over) {
    const Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 11);
    const std::vector<base::ProductShape> shapes{model.weights()[0].shape()};
    KeyStream keys;
    Life life;
    std::vector<IntegrityCheck<P31>> checks;
    checks.emplace_back(model.weights()[0], 0, keys, life);
    const OfflineContext<P31> context{shapes,    checks, life, keys, model.david.digest,
                                      "david:1", nullptr};
    OfflineOptions options;
    options.peers.emplace_back([&]() -> std::unique_ptr<Transport> {
        life.end();
        throw ProtocolError("nobody is there");
    });
    EXPECT_THROW(OfflineStock<P31>(context, {}, options), ProtocolError);
}

/// A reject in another process delays new sessions, but not an open one.
TEST(OfflineWaits, INTEG_7_an_open_session_reconnects_to_d2_after_a_reject_in_another_process) {
    struct Switch : RejectLimiter {
        void require_allowed(const std::string& peer) const override {
            if (refuses) throw ProtocolError(peer + ": too early");
        }
        void record_reject(const std::string&) noexcept override {}
        std::atomic<bool> refuses = false;
    } limiter;
    const Model model({{5, 3}}, Fill::random, 5);
    OfflineServer server(model, "offline:1", [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 7 ? Bytes{} : answer;
    });
    SessionOptions options = with_offline({&server});
    options.limiter = &limiter;
    Connection<P31> connection(model, options);
    limiter.refuses = true;
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 60));
    EXPECT_GE(connection.charlie.statistics().supply.lost, 2U);
    EXPECT_THROW(Connection<P31>(model, options), ProtocolError) << "a new session waits";
}

}  // namespace
}  // namespace slip::fixture
