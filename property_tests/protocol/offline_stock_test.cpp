// Charlie's stock of masks with cancellations from offline Davids: requests, acceptance, and the
// handling of a D2 who is lost, wrong, or D1.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "property_tests/protocol/offline_server.hpp"
#include "property_tests/protocol/tampering.hpp"

namespace slip::fixture {
namespace {

using namespace protocol;

const std::vector<Shape> two_shapes{{5, 3}, {2, 7}};

bool ends_with_abort(const RecordingTransport& transport) {
    return wire::frame_type(payload_of(transport.sent.back())) == FrameType::abort;
}

template <class Work>
std::string integrity_error_of(const Work& work) {
    try {
        work();
    } catch (const IntegrityError& error) {
        return error.what();
    }
    return "";
}

PROFILE_TEST(OfflineStock, OFF_1_LIN_4_products_equal_those_without_offline_davids) {
    const base::Convolution window{
        .H = 4, .W = 3, .C = 2, .kH = 2, .kW = 2, .N = 3, .stride = 1, .padding = 1};
    const Model model({{5, 3}, {2, 7}, shape_of(window)}, Fill::random, 1, profile_of<P>);
    for (const std::size_t davids : {1U, 2U, 3U}) {
        std::list<OfflineServer> servers;
        std::vector<OfflineServer*> all;
        for (std::size_t i = 0; i < davids; ++i) {
            all.push_back(&servers.emplace_back(model, "offline:" + std::to_string(i)));
        }
        Connection<P> connection(model, with_offline(all));
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 30, 1));
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 10, 8));
        const SupplyStatistics supply = connection.charlie.statistics().supply;
        EXPECT_GE(supply.columns, (30U + 80U) * 3);
        EXPECT_GT(supply.bytes_down, supply.columns * 2 * sizeof(typename P::Residue));
        EXPECT_EQ(supply.lost, 0U);
        connection.charlie.close();
        std::size_t requests = 0;
        for (OfflineServer* server : all) {
            for (const auto& frames : server->frames()) requests += requests_in(frames).size();
        }
        EXPECT_GT(requests, 0U);
    }
}

/// W_D is overwritten while the session is open.
TEST(OfflineStock, MODEL_6_an_open_session_does_not_read_the_weights) {
    const Model model(two_shapes, Fill::random, 1);
    OfflineServer server(model);
    const auto david = make_david_session(model.david);
    RecordingTransport transport(*david);
    auto copies = model.storage;
    auto weights = std::make_unique<kernels::OffloadedWeights>();
    for (std::size_t g = 0; g < copies.size(); ++g) {
        weights->emplace_back(copies[g].data(), two_shapes[g].rows, two_shapes[g].n);
    }
    CharlieSession<kernels::P31> charlie(*weights, model.david.digest, transport,
                                         with_offline({&server}));
    weights.reset();
    for (auto& copy : copies) std::fill(copy.begin(), copy.end(), std::int8_t{1});
    EXPECT_TRUE(steps_are_exact(charlie, model, 20));
}

/// One wrong residue at any place of an answer, in the first or a later answer.
PROFILE_TEST(OfflineStock, OFF_9_OFF_11_a_wrong_cancellation_ends_life_and_session) {
    const Model model(two_shapes, Fill::random, 2, profile_of<P>);
    // Answers of 4 columns; the groups take turns.
    struct Case {
        std::size_t frame, residue;
    };
    for (const Case wrong : {Case{1, 0}, Case{1, 19}, Case{2, 0}, Case{2, 7}, Case{5, 11}}) {
        OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
            return frame == wrong.frame ? with_error<P>(std::move(answer), wrong.residue) : answer;
        });
        Connection<P> connection(model, with_offline({&server}));
        const std::string said =
            integrity_error_of([&] { steps_are_exact(connection.charlie, model, 40); });
        ASSERT_NE(said.find("offline:1"), std::string::npos) << wrong.frame << " " << said;
        EXPECT_FALSE(connection.charlie.alive());
        EXPECT_TRUE(ends_with_abort(connection.transport));
        EXPECT_THROW(connection.charlie.begin_step(1), ProtocolError);
        const Bytes last = server.frames()[0].back();
        EXPECT_EQ(wire::offline_frame_type(payload_of(last)), FrameType::abort);
        EXPECT_EQ(server.frames().size(), 1U) << "he is not called again";
    }
}

PROFILE_TEST(OfflineStock, OFF_9_an_error_in_the_last_row_of_a_large_group_is_refused) {
    const Model model({{2500, 3000}}, Fill::random, 3, profile_of<P>);
    const std::size_t residues = std::size_t{4} * 2500;
    for (const std::size_t wrong : {residues - 1, residues - 2500, std::size_t{2499}}) {
        OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
            return frame == 1 ? with_error<P>(std::move(answer), wrong) : answer;
        });
        Connection<P> connection(model, with_offline({&server}, 4));
        EXPECT_NE(integrity_error_of([&] { connection.charlie.begin_step(1); }), "") << wrong;
    }
}

/// D2 and David agree on an error that cancels in the product.
PROFILE_TEST(OfflineStock, OFF_9_colluding_davids_are_caught) {
    const Model model({{5, 3}}, Fill::random, 4, profile_of<P>);
    OfflineServer server(model, "offline:1", [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 1 ? with_error<P>(std::move(answer), 2) : answer;
    });
    const auto david = make_david_session(model.david, tamper_with<P>(0, 2, 1));
    RecordingTransport transport(*david);
    CharlieSession<P> charlie(model.weights(), model.david.digest, transport,
                              with_offline({&server}));
    EXPECT_NE(integrity_error_of([&] { steps_are_exact(charlie, model, 5); }), "");
    EXPECT_EQ(charlie.statistics().checks, 0U);
}

/// One of the two Davids is wrong.
TEST(OfflineStock, OFF_11_INTEG_7_the_david_with_the_wrong_answer_is_named_and_delayed) {
    const Model model({{5, 3}}, Fill::random, 4);
    for (const bool offline_is_wrong : {false, true}) {
        ReconnectLimiter limiter;
        OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
            return offline_is_wrong && frame == 1 ? with_error<kernels::P31>(std::move(answer), 0)
                                                  : answer;
        });
        const auto david = offline_is_wrong
                               ? make_david_session(model.david)
                               : make_david_session(model.david, tamper_with<>(0, 0, 1));
        RecordingTransport transport(*david);
        SessionOptions options = with_offline({&server});
        options.limiter = &limiter;
        CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport,
                                             options);
        const std::string said = integrity_error_of([&] { steps_are_exact(charlie, model, 5); });
        EXPECT_EQ(said.find("offline:1") != std::string::npos, offline_is_wrong) << said;
        ASSERT_NE(said, "");
        server.frames();  // his thread has ended
        const auto limited = [&](const char* name) {
            try {
                limiter.require_allowed(name);
                return false;
            } catch (const ProtocolError&) {
                return true;
            }
        };
        EXPECT_EQ(limited("offline:1"), offline_is_wrong);
        EXPECT_EQ(limited(Transport::unnamed), !offline_is_wrong);
    }
}

/// The life ends between David's answer and its check: nothing is unmasked, and David is not
/// blamed.
TEST(OfflineStock, OFF_11_INTEG_7_david_is_not_blamed_for_a_reject_while_his_reply_is_under_way) {
    const Model model({{5, 3}}, Fill::random, 4);
    ReconnectLimiter limiter;
    std::atomic<bool> held = false;
    std::atomic<bool> lies = false;
    OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t, Bytes answer) {
        while (held) std::this_thread::yield();
        return lies ? with_error<kernels::P31>(std::move(answer), 0) : answer;
    });
    const auto david = make_david_session(model.david);
    /// Delivers David's answer after the wrong cancellation was rejected.
    class Late : public RecordingTransport {
    public:
        using RecordingTransport::RecordingTransport;
        void receive(std::span<std::byte> bytes) override {
            if (before) std::exchange(before, {})();
            RecordingTransport::receive(bytes);
        }
        std::function<void()> before;
    } transport(*david);
    SessionOptions options = with_offline({&server});
    options.limiter = &limiter;
    CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport, options);
    charlie.wait_until_ready(8);
    EXPECT_TRUE(steps_are_exact(charlie, model, 2, 2));
    charlie.wait_until_ready(8);
    const Columns q = some_columns(model, 4);
    charlie.begin_step(4);
    Products<kernels::P31> products(20);
    held = true;
    charlie.send(0, q.view());
    transport.before = [&] {
        lies = true;
        held = false;
        while (!server.has(FrameType::abort)) std::this_thread::yield();
    };
    const std::string said = integrity_error_of([&] { charlie.receive({products.data(), 4, 5}); });
    EXPECT_NE(said.find("offline:1"), std::string::npos) << said;
    EXPECT_EQ(products, Products<kernels::P31>(20));
    EXPECT_TRUE(ends_with_abort(transport));
    EXPECT_NO_THROW(limiter.require_allowed(Transport::unnamed));
}

/// D2 ends the connection after every few answers. The session goes on; every connection has a new
/// key, and no index is requested twice under one key.
TEST(OfflineStock, OFF_8_OFF_11_a_lost_d2_is_replaced_and_no_mask_is_requested_twice) {
    const Model model(two_shapes, Fill::random, 5);
    OfflineServer server(model, "offline:1", [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 7 ? Bytes{} : answer;
    });
    Connection<kernels::P31> connection(model, with_offline({&server}));
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 60));
    EXPECT_GE(connection.charlie.statistics().supply.lost, 3U);
    connection.charlie.close();
    std::size_t hellos = 0;
    for (const Bytes& frame : connection.transport.sent) {
        hellos += wire::frame_type(payload_of(frame)) == FrameType::hello;
    }
    EXPECT_EQ(hellos, 1U);
    std::set<std::vector<std::uint8_t>> keys;
    for (const auto& frames : server.frames()) {
        keys.insert(key_in(frames[0]));
        std::uint64_t next = 0;
        for (const wire::ColumnsHeader& request : requests_in(frames)) {
            EXPECT_EQ(request.sequence, next);
            next += request.columns;
        }
    }
    EXPECT_EQ(keys.size(), server.frames().size());
    EXPECT_GE(keys.size(), 4U);
}

/// rho is drawn under the session key.
TEST(OfflineStock, OFF_8_connection_keys_differ_from_the_key_of_rho) {
    const Model model(two_shapes, Fill::random, 5);
    OfflineServer server(model);
    const auto key = counting_key();
    SessionOptions options = with_offline({&server});
    options.keys.test_keys = key;
    {
        Connection<kernels::P31> connection(model, options);
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 3));
    }
    EXPECT_NE(key_in(server.frames()[0][0]), key);
}

TEST(OfflineStock, OFF_8_RAND_5_a_new_connection_replaces_an_exhausted_key) {
    const Model model({{5, 3}}, Fill::random, 5);
    OfflineServer server(model);
    SessionOptions options = with_offline({&server});
    options.offline.blocks_per_key = 30;  // one block per mask
    Connection<kernels::P31> connection(model, options);
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 100));
    EXPECT_EQ(connection.charlie.statistics().supply.lost, 0U);
    connection.charlie.close();
    EXPECT_GE(server.frames().size(), 4U);
    for (const auto& frames : server.frames()) {
        std::uint64_t columns = 0;
        for (const wire::ColumnsHeader& request : requests_in(frames)) columns += request.columns;
        EXPECT_LE(columns, 30U);
    }
}

/// An old answer, unchanged or with the header of the new one.
TEST(OfflineStock, OFF_5_OFF_9_a_replayed_answer_is_refused) {
    const Model model({{5, 3}}, Fill::random, 6);
    for (const bool patched : {false, true}) {
        Bytes first;
        OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
            if (frame == 1) first = answer;
            if (frame != 2) return answer;
            Bytes replay = first;
            if (patched) std::copy_n(answer.begin(), wire::columns_header_bytes, replay.begin());
            return replay;
        });
        SessionOptions options = with_offline({&server});
        options.offline.recall.limit = std::chrono::milliseconds(0);
        Connection<kernels::P31> connection(model, options);
        const auto steps = [&] { steps_are_exact(connection.charlie, model, 40); };
        if (patched) {
            EXPECT_NE(integrity_error_of(steps), "");
        } else {
            EXPECT_THROW(steps(), ProtocolError) << "of another index";
        }
    }
}

TEST(OfflineStock, OFF_1_OFF_2_a_d2_is_refused_if_he_has_another_artifact_or_is_david) {
    const Model model({{5, 3}}, Fill::random, 6);
    Model other({{5, 3}}, Fill::random, 7);
    other.david.digest[0] ^= 1;
    const auto open = [&](OfflineServer& server, const std::string& david_name) {
        class Named : public RecordingTransport {
        public:
            Named(DavidSession& david, std::string name)
                : RecordingTransport(david), name_(std::move(name)) {}
            std::string peer_name() const override { return name_; }

        private:
            std::string name_;
        };
        const auto david = make_david_session(model.david);
        Named transport(*david, david_name);
        std::string said;
        try {
            CharlieSession<kernels::P31> charlie(model.weights(), model.david.digest, transport,
                                                 with_offline({&server}));
        } catch (const BadInput& error) {
            said = std::string("bad input: ") + error.what();
        } catch (const ProtocolError& error) {
            said = error.what();
        }
        EXPECT_TRUE(said.empty() || david->finished()) << "ABORT was sent";
        return said;
    };
    OfflineServer stranger(other);
    EXPECT_NE(open(stranger, "david:1").find("another weight file"), std::string::npos);
    OfflineServer same(model, "david:1");
    EXPECT_NE(open(same, "david:1").find("bad input: david:1"), std::string::npos);
    EXPECT_EQ(open(same, "david:2"), "");
}

/// A slow D2 gets the same REQUESTs as a fast one.
TEST(OfflineStock, OFF_14_requests_do_not_depend_on_the_times_of_answers) {
    const Model model(two_shapes, Fill::random, 8);
    std::vector<std::vector<wire::ColumnsHeader>> asked;
    for (const int delay : {0, 3}) {
        OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
            if (delay > 0 && frame % 3 == 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(delay));
            }
            return answer;
        });
        Connection<kernels::P31> connection(model, with_offline({&server}));
        for (const std::size_t rows : {1U, 3U, 8U, 1U, 1U, 5U, 8U, 7U, 2U, 8U}) {
            EXPECT_TRUE(steps_are_exact(connection.charlie, model, 1, rows));
        }
        connection.charlie.begin_step(8);
        connection.charlie.close();
        asked.push_back(requests_in(server.frames()[0]));
    }
    const std::size_t same = std::min(asked[0].size(), asked[1].size());
    EXPECT_GE(same, 20U);
    EXPECT_TRUE(std::equal(asked[0].begin(), asked[0].begin() + static_cast<std::ptrdiff_t>(same),
                           asked[1].begin()));
}

TEST(OfflineStock, OFF_5_at_most_four_requests_are_unanswered) {
    const Model model(two_shapes, Fill::random, 9);
    std::atomic<bool> held = true;
    OfflineServer server(model, "offline:1", [&](std::size_t, std::size_t frame, Bytes answer) {
        while (held && frame > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return answer;
    });
    std::size_t sent = 0;
    {
        SessionOptions options = with_offline({&server}, 40);
        std::atomic<std::size_t> count = 0;  // frames that Charlie sends while no answer comes
        options.offline.peers[0] = observed(options.offline.peers[0], [&](auto) { ++count; });
        Connection<kernels::P31> connection(model, options);
        while (count < 1 + request_window) std::this_thread::yield();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        sent = count;
        held = false;
        EXPECT_TRUE(steps_are_exact(connection.charlie, model, 3));
    }
    EXPECT_EQ(sent, 5U) << "KEY and four REQUESTs";
}

TEST(OfflineStock, OFF_11_when_no_d2_is_left_the_next_step_that_needs_one_fails) {
    const Model model({{5, 3}}, Fill::random, 11);
    OfflineServer server(model, "offline:1",
                         [](std::size_t connection, std::size_t frame, Bytes answer) {
                             return connection > 0 || frame > 2 ? Bytes{} : answer;
                         });
    SessionOptions options = with_offline({&server});
    options.offline.recall.limit = std::chrono::milliseconds(20);
    Connection<kernels::P31> connection(model, options);
    try {
        steps_are_exact(connection.charlie, model, 100);
        FAIL() << "8 masks are enough for 100 steps";
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("no offline David is left"), std::string::npos);
    }
    EXPECT_EQ(connection.charlie.statistics().rounds, 8U) << "what was checked stays usable";
    EXPECT_TRUE(ends_with_abort(connection.transport));
}

/// With masks from D2, and a connection that is lost.
TEST(OfflineStock, OFF_12_MASK_5_masked_inputs_are_uniform_and_distinct) {
    const Model model({{5, 64}}, Fill::random, 12);
    OfflineServer server(model, "offline:1", [](std::size_t, std::size_t frame, Bytes answer) {
        return frame == 9 ? Bytes{} : answer;
    });
    Connection<kernels::P31> connection(model, with_offline({&server}));
    const Columns zeros(4, 64, std::vector<std::int16_t>(256, 0));
    for (int i = 0; i < 60; ++i) {
        connection.charlie.begin_step(4);
        round(connection.charlie, 0, zeros, 5);
    }
    std::set<std::vector<std::uint32_t>> columns;
    std::array<double, 64> counts{};
    for (const auto& message : connection.transport.masked_inputs()) {
        for (std::size_t at = 0; at < message.size(); at += 64) {
            const auto begin = message.begin() + static_cast<std::ptrdiff_t>(at);
            columns.emplace(begin, begin + 64);
        }
        for (const std::uint32_t residue : message) counts[residue >> 25] += 1;
    }
    EXPECT_EQ(columns.size(), 240U);
    double chi_square = 0;
    for (const double count : counts) chi_square += (count - 240) * (count - 240) / 240;
    EXPECT_LT(chi_square, 150) << "63 degrees of freedom: exceeded with probability below 1e-8";
}

TEST(OfflineStock, the_level_of_the_stock_is_that_of_the_group_with_fewest_masks) {
    using Queues = std::vector<std::array<std::size_t, 2>>;
    const auto level = [](const Queues& queues) {
        const StockLevel found = level_of(
            queues, [](const auto& queue) { return queue[0]; },
            [](const auto& queue) { return queue[1]; });
        return std::array{found.ready, found.full};
    };
    EXPECT_EQ(level({{8, 16}, {3, 20}, {9, 12}}), (std::array<std::size_t, 2>{3, 12}));
    EXPECT_EQ(level({}), (std::array<std::size_t, 2>{0, 0}));

    const Model model(two_shapes, Fill::random, 1);
    OfflineServer server(model);
    Connection<kernels::P31> connection(model, with_offline({&server}));
    const std::size_t full = connection.charlie.stock().full;
    EXPECT_GT(full, 0U);
    connection.charlie.wait_until_ready(full);
    EXPECT_EQ(connection.charlie.stock().ready, full);
    connection.charlie.close();
    EXPECT_EQ(connection.charlie.stock().full, 0U);
}

}  // namespace
}  // namespace slip::fixture
