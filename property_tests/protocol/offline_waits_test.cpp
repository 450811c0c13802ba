// Waits of sessions with offline Davids, and reconnecting.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "optimized/protocol/recall.hpp"
#include "property_tests/generators/deadline.hpp"
#include "property_tests/protocol/offline_server.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;
using namespace std::chrono_literals;
using kernels::P31;

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
    const slip::testing::Deadline deadline;
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

/// The D2 answers only once the user was told.
TEST(OfflineWaits, OFF_14_a_long_wait_is_told_once) {
    const slip::testing::Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 10);
    std::atomic<bool> held = true;
    OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
        while (held && frame > 0) std::this_thread::sleep_for(1ms);
        return answer;
    });
    SessionOptions options = with_offline({&server});
    options.offline.interval = 2ms;
    options.offline.note_after = 9ms;
    std::vector<std::string> told;
    options.offline.note = [&](const std::string& text) {
        told.push_back(text);
        std::this_thread::sleep_for(20ms);  // more intervals, none of which is told
        held = false;
    };
    Connection<P31> connection(model, options);
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 1));
    EXPECT_EQ(told, std::vector<std::string>{"waiting for masks from an offline David"});
}

/// The life ends before any D2 has sent READY.
TEST(OfflineWaits, OFF_11_a_stock_is_not_opened_in_a_life_that_is_over) {
    const slip::testing::Deadline deadline;
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

/// The pauses between a loss and the end of all calls, if the D2 never comes back.
std::vector<std::chrono::milliseconds> pauses(Recall& recall, Recall::Time& now) {
    std::vector<std::chrono::milliseconds> found;
    while (const auto pause = recall.lost(now)) {
        found.push_back(*pause);
        now += *pause;
    }
    return found;
}

TEST(Recall, OFF_11_pauses_double_up_to_a_limit_and_end_when_the_time_is_over) {
    const Recall::Time start{};
    Recall::Time now = start;
    Recall recall({.pause = 1s, .longest = 4s, .limit = 20s});
    using Pauses = std::vector<std::chrono::milliseconds>;
    EXPECT_EQ(pauses(recall, now), (Pauses{1s, 2s, 4s, 4s, 4s, 4s, 1s}));
    EXPECT_EQ(now - start, 20s) << "the last call is at the limit";
    EXPECT_EQ(recall.lost(now + 1h), std::nullopt);

    Recall standard{{}};
    const Recall::Time before = now;
    EXPECT_GE(pauses(standard, now).size(), 20U);
    EXPECT_EQ(now - before, TimeLimits{}.patience);
    Recall never({.limit = 0ms});
    EXPECT_EQ(never.lost(now), std::nullopt);
}

/// The limit counts from the last READY. The pauses grow until the D2 gives masks again.
TEST(Recall, OFF_11_ready_restarts_the_limit_and_masks_reset_the_pause) {
    Recall::Time now{};
    Recall recall({.pause = 1s, .longest = 8s, .limit = 20s});
    EXPECT_EQ(recall.lost(now), 1s);
    recall.ready();
    now += 1h;
    EXPECT_EQ(recall.lost(now), 2s);
    recall.ready();
    recall.answered();
    now += 1h;
    EXPECT_EQ(recall.lost(now), 1s);
    EXPECT_EQ(recall.lost(now + 20s), std::nullopt);
}

/// A D2 that loads its weights again cannot be reached for many calls.
TEST(OfflineWaits, OFF_11_a_d2_who_restarts_is_called_until_he_is_back) {
    const slip::testing::Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 5);
    OfflineServer server(model, "offline:1",
                         [](std::size_t connection, std::size_t frame, Bytes answer) {
                             return connection == 0 && frame == 3 ? Bytes{} : answer;
                         });
    SessionOptions options = with_offline({&server});
    std::atomic<int> calls = 0;
    options.offline.peers[0] = [&, connect = server.connect()] {
        const int call = ++calls;
        if (call > 1 && call <= 41) throw ProtocolError("nobody is there");
        return connect();
    };
    Connection<P31> connection(model, options);
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 60));
    EXPECT_EQ(connection.charlie.statistics().supply.lost, 41U);
    EXPECT_EQ(calls, 42);
}

/// A connect() that throws `error` from its call number `first` on, counted from 1.
template <class Error>
OfflineOptions::Connect failing_from(int first, OfflineServer& server, Error error) {
    const auto calls = std::make_shared<std::atomic<int>>(0);
    return [=, connect = server.connect()] {
        if (++*calls >= first) throw Error(error);
        return connect();
    };
}

/// Opens a session with these D2s and takes 60 steps. Returns the error, or an empty string.
std::string end_of_steps(const Model& model, std::vector<OfflineOptions::Connect> peers) {
    SessionOptions options = with_offline({});
    options.offline.peers = std::move(peers);
    options.offline.recall.limit = 20ms;
    try {
        Connection<P31> connection(model, options);
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 60));
    } catch (const ProtocolError& error) {
        return error.what();
    } catch (const BadInput& error) {
        return std::string("bad input: ") + error.what();
    }
    return "";
}

/// A renewed key file with a wrong mode loses that D2; at his first connection it is an error.
TEST(OfflineWaits, OFF_11_bad_input_of_a_later_connection_loses_that_d2_alone) {
    const slip::testing::Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 5);
    const auto ends = [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 3 ? Bytes{} : answer;
    };
    const BadInput wrong_mode("key.pem: may be read by others");
    OfflineServer dying(model, "offline:1", ends);
    OfflineServer well(model, "offline:2");
    EXPECT_EQ(end_of_steps(model, {failing_from(2, dying, wrong_mode), well.connect()}), "");
    EXPECT_EQ(end_of_steps(model, {failing_from(2, dying, wrong_mode)}),
              "no offline David is left to compute cancellations: key.pem: may be read by others");
    EXPECT_EQ(end_of_steps(model, {failing_from(1, dying, wrong_mode)}),
              "bad input: key.pem: may be read by others");
}

TEST(OfflineWaits, OFF_11_an_exception_of_any_type_from_connect_is_a_loss) {
    const slip::testing::Deadline deadline;
    const Model model({{5, 3}}, Fill::random, 5);
    OfflineServer dying(model, "offline:1", [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 3 ? Bytes{} : answer;
    });
    OfflineServer well(model, "offline:2");
    EXPECT_EQ(end_of_steps(model, {failing_from(1, dying, 42), well.connect()}), "");
    EXPECT_EQ(end_of_steps(model, {failing_from(2, dying, 42), well.connect()}), "");
    EXPECT_NE(end_of_steps(model, {failing_from(1, dying, 42)}).find("no std::exception"),
              std::string::npos);
}

}  // namespace
}  // namespace slip::fixture
