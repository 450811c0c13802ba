// David as a server: addresses, peers that misbehave, and several at once.
// test: threads
#include <gtest/gtest.h>

#include <cstdlib>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "optimized/net/deadline.hpp"
#include "optimized/net/slow_peer.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "property_tests/net/deployment.hpp"

namespace slip::testing {
namespace {

namespace wire = protocol::wire;
using namespace net;

const bool full = std::getenv("SLIP_FULL") != nullptr;

// ---- addresses

TEST(Endpoints, are_parsed_and_bad_ones_name_the_flag) {
    const auto same = [](const std::string& text, const std::string& host,
                         const std::string& port) {
        const Endpoint endpoint = parse_endpoint(text, "--david");
        return endpoint.host == host && endpoint.port == port;
    };
    EXPECT_TRUE(same("127.0.0.1:4433", "127.0.0.1", "4433"));
    EXPECT_TRUE(same("david.example:0", "david.example", "0"));
    EXPECT_TRUE(same("[::1]:65535", "::1", "65535"));
    EXPECT_EQ(describe(parse_endpoint("[::1]:65535", "--david")), "[::1]:65535");
    EXPECT_EQ(describe(parse_endpoint("127.0.0.1:1", "--david")), "127.0.0.1:1");
    for (const char* text : {"", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:8o",
                             "host:123456", "::1:80", "[::1]", "[::1]80", "[]:80", "host: 80"}) {
        try {
            parse_endpoint(text, "--david");
            ADD_FAILURE() << "\"" << text << "\" was accepted";
        } catch (const BadInput& error) {
            EXPECT_NE(std::string(error.what()).find("--david"), std::string::npos);
        }
    }
}

TEST(Endpoints, an_address_that_is_taken_is_bad_input) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    EXPECT_THROW(TlsServer(server.endpoint(), Deployments::path() / "ours/david", {}, {}, {}),
                 BadInput);
}

TEST(Endpoints, nobody_listening_is_a_protocol_error_that_names_the_endpoint) {
    Endpoint endpoint;
    {
        const Model model(shapes, Fill::random, 1);
        RunningServer server(model);
        endpoint = server.endpoint();
    }
    try {
        connect_as(endpoint, options_of("ours", Role::charlie));
        FAIL();
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + endpoint.port), std::string::npos);
    }
}

TEST(Endpoints, INTEG_7_a_connection_names_the_endpoint_that_it_was_made_to) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const Endpoint endpoint{"localhost", server.endpoint().port};
    EXPECT_EQ(connect_as(endpoint, options_of("ours", Role::charlie))->peer_name(),
              "localhost:" + endpoint.port);
}

// ---- peers that misbehave

TEST(Server, SESS_7_a_plaintext_client_hurts_nobody) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    PlainSocket plain(server.endpoint());
    plain.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(plain.is_ended());
    EXPECT_TRUE(server.reports("handshake"));
    EXPECT_TRUE(serves(server, model));
}

TEST(Server, a_peer_that_hangs_in_the_handshake_is_cut_off) {
    const Model model(shapes, Fill::random, 1);
    Party options = options_of("ours", Role::david);
    options.limits.timeout = 200ms;
    RunningServer server(model, options);
    PlainSocket silent(server.endpoint());
    EXPECT_TRUE(silent.is_ended());
    EXPECT_TRUE(server.reports("in time"));
    // A byte now and then does not help him: the limit is for the handshake as a whole.
    PlainSocket slow(server.endpoint());
    std::thread drip([&] {
        const std::string start("\x16\x03\x01\x02\x00\x01\x00", 7);
        for (const char byte : start) {
            slow.send(std::string(1, byte));
            std::this_thread::sleep_for(20ms);
        }
    });
    EXPECT_TRUE(slow.is_ended());
    drip.join();
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(Server, SESS_4_a_peer_that_hangs_within_a_frame_is_cut_off_and_one_that_thinks_is_not) {
    const Model model(shapes, Fill::random, 1);
    Party options = options_of("ours", Role::david);
    options.limits.timeout = 800ms;
    RunningServer server(model, options);
    Client thinking(model, server.endpoint());
    std::this_thread::sleep_for(1000ms);
    EXPECT_TRUE(works(thinking, model));

    const auto hanging = connect_as(server.endpoint(), options_of("ours", Role::charlie));
    const Bytes hello = hello_for(model);
    hanging->send(std::span(hello).first(10));
    std::array<std::byte, 1> nothing{};
    EXPECT_THROW(hanging->receive(nothing), ProtocolError);
    EXPECT_TRUE(server.reports("in time"));
    EXPECT_TRUE(works(thinking, model));
}

TEST(Server, SESS_4_a_peer_that_thinks_too_long_is_cut_off) {
    const Model model(shapes, Fill::random, 1);
    Party options = options_of("ours", Role::david);
    options.limits.patience = 500ms;
    RunningServer server(model, options);
    Client client(model, server.endpoint());
    EXPECT_TRUE(server.reports("in time"));
    EXPECT_THROW(works(client, model), ProtocolError);
}

TEST(Client, SESS_4_a_david_who_does_not_answer_is_given_up) {
    const Model model(shapes, Fill::random, 1);
    std::atomic<bool> go{false};
    TlsServer server(
        {"127.0.0.1", "0"}, Deployments::path() / "ours/david", {.max_sessions = 4},
        [&](Transport&) {
            while (!go) std::this_thread::sleep_for(1ms);
        },
        [](const std::string&) {});
    std::thread thread([&] { server.run(); });
    Party options = options_of("ours", Role::charlie);
    options.limits.patience = 100ms;
    EXPECT_THROW(Client(model, {"127.0.0.1", std::to_string(server.port())}, options),
                 ProtocolError);
    go = true;
    server.stop();
    thread.join();
}

/// As a look-up does whose name server does not answer.
TEST(Client, SESS_8_work_that_does_not_end_is_given_up) {
    std::promise<void> end;
    const auto ended = end.get_future().share();
    const auto work = [ended] {
        ended.wait();
        return 1;
    };
    const auto later = net::Clock::now() + generous;
    EXPECT_EQ(net::before<int>(net::Clock::now() + 20ms, -1, work), std::nullopt);
    end.set_value();
    EXPECT_EQ(net::before<int>(later, -1, work), 1);
    const auto failing = []() -> int { throw ProtocolError("no such name"); };
    EXPECT_THROW(net::before<int>(later, -1, failing), ProtocolError);
}

TEST(Client, one_wait_that_lasts_too_long_is_told_once) {
    std::promise<void> told;
    std::atomic<int> times{0};
    {
        net::SlowPeer slow(1ms, [&] {
            ++times;
            told.set_value();
        });
        slow.during([&] { told.get_future().wait(); });
        slow.during([] { std::this_thread::sleep_for(20ms); });
    }
    EXPECT_EQ(times, 1);
}

TEST(Client, waits_that_end_in_time_are_not_told) {
    std::atomic<int> times{0};
    {
        net::SlowPeer slow(1h, [&] { ++times; });
        EXPECT_EQ(slow.during([] { return 7; }), 7);
        EXPECT_THROW(slow.during([]() -> int { throw ProtocolError("gone"); }), ProtocolError);
    }
    {
        net::SlowPeer slow(1ms, [&] { ++times; });  // nobody waits
        slow.during([] {});
        std::this_thread::sleep_for(50ms);
    }
    EXPECT_EQ(times, 0);
}

TEST(Client, THREAT_2_a_key_that_others_may_use_is_refused) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const TemporaryFolder folder;
    Party charlie = options_of("ours", Role::charlie);
    fs::copy(charlie.folder, folder / "charlie");
    charlie.folder = folder / "charlie";
    const fs::path key = charlie.folder / "key.pem";
    for (const unsigned mode : {0644U, 0660U, 0602U}) {
        fs::permissions(key, fs::perms(mode));
        try {
            connect_as(server.endpoint(), charlie);
            ADD_FAILURE() << std::oct << mode << " was accepted";
        } catch (const BadInput& error) {
            EXPECT_NE(std::string(error.what()).find(key.string()), std::string::npos);
        }
    }
    fs::permissions(key, fs::perms(0600));
    EXPECT_NO_THROW(connect_as(server.endpoint(), charlie));
}

// SESS-9: David reads what still arrives, so that his REFUSE does.
TEST(Server, WIRE_9_a_malformed_frame_is_refused_and_the_refusal_arrives) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const auto transport = connect_as(server.endpoint(), options_of("ours", Role::charlie));
    // Much more than David reads and the system buffers: sending it all, and reading the answer,
    // needs a David who does not cut the connection at once.
    const Bytes nonsense(std::size_t{1} << 24, std::byte{0x55});
    transport->send(nonsense);
    Bytes answer(6);
    transport->receive(answer);
    EXPECT_EQ(answer, wire::encode_refuse(wire::Refusal::malformed));
    EXPECT_THROW(transport->receive(std::span(answer).first(1)), ProtocolError);
}

TEST(Server, SESS_4_one_killed_within_a_frame_hurts_no_other) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 2);
    Client one(model, server.endpoint());
    for (int i = 0; i < 3; ++i) {  // more often than there are places
        const auto killed = connect_as(server.endpoint(), options_of("ours", Role::charlie));
        const Bytes hello = hello_for(model);
        killed->send(std::span(hello).first(20));
    }
    EXPECT_TRUE(server.reports("ended the connection"));
    EXPECT_TRUE(works(one, model));
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(Server, WIRE_7_sessions_beyond_the_limit_are_told_that_david_is_busy) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 2);
    auto one = std::make_unique<Client>(model, server.endpoint());
    Client other(model, server.endpoint());
    try {
        Client third(model, server.endpoint());
        ADD_FAILURE() << "a third session was opened";
    } catch (const Refused& refused) {
        EXPECT_EQ(refused.reason(), Refusal::busy) << refused.what();
    }
    EXPECT_TRUE(works(*one, model));
    EXPECT_TRUE(works(other, model));
    one.reset();
    EXPECT_TRUE(serves_soon(server, model)) << "a place is free again";
}

TEST(Server, WIRE_7_busy_comes_before_every_other_reason_and_after_the_length) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 4);
    std::vector<std::unique_ptr<Client>> clients;  // as many are told that David is busy, below
    for (int i = 0; i < 4; ++i)
        clients.push_back(std::make_unique<Client>(model, server.endpoint()));
    const auto other = [&] {
        return connect_as(server.endpoint(), options_of("ours", Role::charlie));
    };
    const auto hello = [&](std::uint16_t version) {
        return wire::encode_hello({version, model.david.set.code, model.david.digest});
    };
    for (const Bytes& frame : {hello(3), wire::encode_empty(wire::FrameType::close),
                               Bytes{std::byte{1}, {}, {}, {}, std::byte{99}}}) {
        const auto third = other();
        third->send(frame);
        Bytes answer(6);
        third->receive(answer);
        EXPECT_EQ(answer, wire::encode_refuse(wire::Refusal::busy));
    }
    Bytes longer = hello(2);  // by one byte
    longer[0] = std::byte{wire::hello_bytes + 1};
    longer.emplace_back();
    const auto third = other();
    third->send(longer);
    EXPECT_THROW(third->receive(std::span(longer).first(1)), ProtocolError);
}

TEST(Server, connections_far_beyond_the_limit_are_closed_at_once) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 1);
    std::vector<std::unique_ptr<PlainSocket>> sockets;
    for (int i = 0; i < 4; ++i) sockets.push_back(std::make_unique<PlainSocket>(server.endpoint()));
    EXPECT_TRUE(server.reports("too many connections"));
    sockets.clear();
    EXPECT_TRUE(serves_soon(server, model));
}

/// Sockets that send `greeting` and nothing more, each replaced by a new one as soon as the server
/// closes it.
class Renewed {
public:
    Renewed(const Endpoint& endpoint, std::size_t count, std::string greeting)
        : endpoint_(endpoint), greeting_(std::move(greeting)), sockets_(count) {
        for (auto& socket : sockets_) open(socket);
        thread_ = std::thread([this] { renew(); });
    }
    Renewed(const Renewed&) = delete;
    Renewed& operator=(const Renewed&) = delete;
    ~Renewed() {
        stop_ = true;
        thread_.join();
    }
    std::atomic<std::size_t> renewals{0};

private:
    void open(std::unique_ptr<PlainSocket>& socket) {
        socket = std::make_unique<PlainSocket>(endpoint_);
        if (!greeting_.empty() && socket->connected) socket->send(greeting_);
    }
    void renew() {
        while (!stop_) {
            for (auto& socket : sockets_) {
                if (!socket->has_ended()) continue;
                open(socket);
                ++renewals;
            }
            std::this_thread::sleep_for(10ms);
        }
    }

    const Endpoint endpoint_;
    const std::string greeting_;
    std::vector<std::unique_ptr<PlainSocket>> sockets_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

/// 40 connections where 32 have room: an honest Charlie's handshake is the one that is not ended.
TEST(Server, SESS_8_silent_connections_without_end_keep_no_charlie_out) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 16);
    Renewed silent(server.endpoint(), 40, "");
    const auto end = std::chrono::steady_clock::now() + (full ? 120s : 0s);
    int served = 0;
    do {
        EXPECT_TRUE(serves(server, model)) << "Charlie number " << served;
        ++served;
    } while (served < 5 || std::chrono::steady_clock::now() < end);
    EXPECT_GE(silent.renewals, 8u) << "the server had room for all";
    EXPECT_TRUE(server.reports("too many connections"));
}

/// Whoever has sent something is not ended before those who have not.
TEST(Server, SESS_8_who_gives_way_is_silent_rather_than_old) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 2);  // room for four
    PlainSocket begun(server.endpoint());
    begun.send(std::string("\x16\x03\x01\x02", 4));
    std::vector<std::unique_ptr<PlainSocket>> silent;
    for (int i = 0; i < 8; ++i) silent.push_back(std::make_unique<PlainSocket>(server.endpoint()));
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(silent[static_cast<std::size_t>(i)]->is_ended());
    EXPECT_TRUE(serves(server, model));
    EXPECT_FALSE(begun.has_ended());
}

TEST(Server, SESS_6_several_sessions_at_once) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            Client client(model, server.endpoint());
            for (int repeat = 0; repeat < 10; ++repeat) good += works(client, model);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 40);
}

TEST(Server, stop_ends_sessions_that_hang) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    PlainSocket silent(server.endpoint());
    Client client(model, server.endpoint());
    EXPECT_TRUE(works(client, model));
    const auto start = std::chrono::steady_clock::now();
    server.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, generous / 2);
    EXPECT_THROW(works(client, model), ProtocolError);
    EXPECT_TRUE(silent.is_ended());
    EXPECT_FALSE(PlainSocket(server.endpoint()).connected);
}

TEST(Server, stop_before_run_and_twice_is_harmless) {
    TlsServer server(
        {"127.0.0.1", "0"}, Deployments::path() / "ours/david", {}, [](Transport&) {},
        [](const std::string&) {});
    server.stop();
    server.run();
    server.stop();
}

/// A message of several TLS records, up and down.
TEST(Tls, PARAM_3_a_large_message_arrives_whole) {
    const Model model({{40, 300}}, Fill::random, 1);
    RunningServer server(model);
    Client client(model, server.endpoint());
    Random random(1);
    const std::size_t b = 2000;
    const std::int16_t most = largest_activation(model.matrices[0], paper_planes);
    const Columns columns(
        b, 300,
        fill<std::int16_t>(Fill::random, b * 300, static_cast<std::int16_t>(-most), most, random));
    const auto over_tls = round(client.charlie, 0, columns, 40);
    Connection in_process(model);
    EXPECT_EQ(over_tls, round(in_process.charlie, 0, columns, 40));
}

}  // namespace
}  // namespace slip::testing
