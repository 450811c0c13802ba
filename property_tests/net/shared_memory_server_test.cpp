// David as a server beside shared memory: who may connect, peers that misbehave, and several at
// once.
// test: threads
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "optimized/net/named_socket.hpp"
#include "optimized/net/shared_memory_connection.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/net/serving_david.hpp"
#include "slip/shared_memory.hpp"

namespace slip::testing {
namespace {

namespace fs = std::filesystem;
namespace wire = protocol::wire;
using net::OwnDescriptor;

struct OwnFolder {
    fs::path name() const { return folder.path() / "david"; }
    TemporaryFolder folder;
};

/// A David in a folder of his own.
class LocalServer : public OwnFolder, public ServingDavid<SharedMemoryServer> {
public:
    explicit LocalServer(const Model& model, const TimeLimits& limits = generous_limits,
                         std::size_t max_sessions = 8,
                         std::optional<std::uint32_t> peer_user = std::nullopt)
        : ServingDavid(model, {.max_sessions = max_sessions, .limits = limits}, name(), peer_user) {
    }
};

struct LocalClient : ConnectedCharlie {
    LocalClient(const Model& model, const fs::path& name)
        : ConnectedCharlie(model, connect_shared_memory(name, generous_limits)) {}
};

/// Once the server has noticed that others are gone.
bool serves_soon(const LocalServer& server, const Model& model) {
    return works_soon(model, [&] { return connect_shared_memory(server.name(), generous_limits); });
}

/// A connection that says what the test makes it say.
OwnDescriptor plain(const fs::path& name) { return net::connect_to(name, Clock::now() + 120s, -1); }

/// Whether the server ends it within a generous time.
bool is_ended(const OwnDescriptor& socket) {
    std::array<char, 64> bytes{};
    while (net::wait_until_ready(socket.number(), POLLIN, Clock::now() + 120s, -1) == 0) {
        if (::recv(socket.number(), bytes.data(), bytes.size(), 0) <= 0) return true;
    }
    return false;
}

std::string bad_input(const std::function<void()>& action) {
    try {
        action();
    } catch (const BadInput& error) {
        return error.what();
    }
    return "nothing was thrown";
}

void expect_bad_input(const std::function<void()>& action, const std::string& text) {
    const std::string what = bad_input(action);
    EXPECT_NE(what.find(text), std::string::npos) << what;
}

/// A server that serves nobody.
void listen_at(const fs::path& name) {
    SharedMemoryServer(
        name, std::nullopt, {}, [](Transport&) {}, [](const std::string&) {});
}

mode_t permissions_of(const fs::path& path) {
    struct stat found {};
    EXPECT_EQ(::stat(path.c_str(), &found), 0);
    return found.st_mode & ALLPERMS;
}

const std::vector<Shape> local_shapes = {{9, 5}, {3, 7}};

TEST(SharedMemoryServer, SESS_12_a_session_over_a_named_socket_gives_exact_products) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    LocalClient one(model, server.name()), other(model, server.name());
    EXPECT_EQ(one.transport->peer_name(), "shm:" + server.name().string());  // INTEG-7
    std::thread thread([&] {
        for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(one, model));
    });
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(works(other, model));
    thread.join();
}

TEST(SharedMemoryServer, SESS_12_a_folder_in_which_others_may_write_is_refused_by_both_sides) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    EXPECT_EQ(permissions_of(server.name()), 0600U);
    for (const unsigned mode : {0720U, 0702U, 0777U, 01777U}) {
        const TemporaryFolder folder;
        for (const fs::path& open : {folder.path(), server.folder.path()}) {
            ASSERT_EQ(::chmod(open.c_str(), mode), 0);
        }
        expect_bad_input([&] { listen_at(folder / "david"); }, "other users may write");
        EXPECT_TRUE(folder.empty());
        expect_complaint([&] { connect_shared_memory(server.name(), generous_limits); },
                         "other users may write");
    }
    ASSERT_EQ(::chmod(server.folder.path().c_str(), 0755), 0);
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(SharedMemoryServer, SESS_12_a_name_that_the_system_does_not_take_is_bad_input) {
    const TemporaryFolder folder;
    const std::size_t left = sizeof(sockaddr_un::sun_path) - 2 - folder.path().native().size();
    listen_at(folder / std::string(left, 'a'));
    for (const fs::path& name : {folder / std::string(left + 1, 'a'), fs::path()}) {
        expect_bad_input([&] { listen_at(name); }, "of 1 to 107 bytes");
        expect_bad_input([&] { connect_shared_memory(name); }, "of 1 to 107 bytes");
    }
}

TEST(SharedMemoryServer, SESS_12_the_socket_of_a_process_that_is_gone_is_replaced_and_no_other) {
    const TemporaryFolder folder;
    const fs::path name = folder / "david";
    const pid_t process = ::fork();
    if (process == 0) {
        const net::NamedListener listener(name, false);
        ::_exit(0);  // and leaves the socket behind
    }
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    ASSERT_TRUE(fs::is_socket(name));
    expect_complaint([&] { connect_shared_memory(name, generous_limits); }, "shm:" + name.string());
    {
        const net::NamedListener listener(name, false);
        expect_bad_input([&] { listen_at(name); }, "another process listens there");
        EXPECT_TRUE(fs::is_socket(name));
    }
    EXPECT_TRUE(folder.empty()) << "it is removed at the end";
    std::ofstream(name) << "something";
    expect_bad_input([&] { listen_at(name); }, "no socket");
    EXPECT_EQ(fs::file_size(name), 9U);
}

TEST(SharedMemoryServer, SESS_12_what_somebody_has_put_in_its_place_stays) {
    const TemporaryFolder folder;
    const fs::path name = folder / "david";
    {
        const net::NamedListener listener(name, false);
        fs::remove(name);
        std::ofstream(name) << "something";
    }
    EXPECT_TRUE(fs::exists(name));
}

/// As another user, who may enter the folder. Returns what happened to him.
std::string as_another_user(const fs::path& name, uid_t user) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t process = ::fork();
    if (process == 0) {
        std::string told = "served";
        if (::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(1);
        try {
            connect_shared_memory(name, generous_limits);
        } catch (const std::exception& error) {
            told = error.what();
        }
        ::_exit(::write(ends[1], told.data(), told.size()) < 0);
    }
    EXPECT_EQ(::waitpid(process, nullptr, 0), process);
    std::array<char, 512> told{};
    const ssize_t size = ::read(ends[0], told.data(), told.size());
    for (const int end : ends) ::close(end);
    return {told.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

TEST(SharedMemoryServer, SESS_12_another_user_is_refused_unless_he_is_named) {
    if (::geteuid() != 0) GTEST_SKIP() << "it takes another user";
    constexpr std::uint32_t named = 65534, other = 65533;
    const Model model(local_shapes, Fill::random, 1);
    LocalServer closed(model), open(model, generous_limits, 8, named);
    for (LocalServer* server : {&closed, &open}) {
        ASSERT_EQ(::chmod(server->folder.path().c_str(), 0711), 0);
    }
    EXPECT_NE(as_another_user(closed.name(), named).find("Permission denied"), std::string::npos);
    ASSERT_EQ(::chmod(closed.name().c_str(), 0666), 0);
    EXPECT_NE(as_another_user(closed.name(), named), "served") << "whatever the mode is";
    EXPECT_TRUE(closed.reports("user 65534 reason=\"this user may not connect\""));
    EXPECT_EQ(as_another_user(open.name(), named), "served");
    EXPECT_NE(as_another_user(open.name(), other), "served");
    EXPECT_TRUE(open.reports("user 65533 reason=\"this user may not connect\""));
    EXPECT_TRUE(serves_soon(open, model)) << "his own user may connect as well";
}

TEST(SharedMemoryServer, SESS_12_whoever_listens_must_own_the_folder) {
    if (::geteuid() != 0) GTEST_SKIP() << "it takes another user";
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    ASSERT_EQ(::chown(server.folder.path().c_str(), 65534, 65534), 0);
    expect_complaint([&] { connect_shared_memory(server.name(), generous_limits); },
                     "another user");
    expect_bad_input([&] { listen_at(server.folder / "other"); }, "another user");
}

// ---- peers that misbehave

TEST(SharedMemoryServer, SESS_8_a_peer_who_says_nothing_is_cut_off) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model, {300ms, 120s});
    const OwnDescriptor silent = plain(server.name());
    EXPECT_TRUE(is_ended(silent));
    EXPECT_TRUE(server.reports("no shared memory was offered: the peer did not act in time"));
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(SharedMemoryServer, SESS_11_a_peer_who_says_something_else_hurts_nobody) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    const OwnDescriptor nonsense = plain(server.name());
    EXPECT_EQ(::send(nonsense.number(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    EXPECT_TRUE(is_ended(nonsense));
    EXPECT_TRUE(server.reports("the peer offered no shared memory"));
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(SharedMemoryServer, SESS_8_a_david_who_does_not_take_the_memory_is_given_up) {
    const TemporaryFolder folder;
    const net::NamedListener silent(folder / "david", false);
    expect_complaint(
        [&] {
            connect_shared_memory(folder / "david", {100ms, 120s});
        },
        "the shared memory was not taken: the peer did not act in time");
    for (const std::string answer : {"SLIPSHM2", "SLIP", ""}) {
        std::thread thread([&] {
            const int listener = silent.socket().number();
            do {  // the first one is that who gave up
                net::wait_until_ready(listener, POLLIN, Clock::now() + 120s, -1);
                const OwnDescriptor one(::accept(listener, nullptr, nullptr));
                net::wait_until_ready(one.number(), POLLIN, Clock::now() + 120s, -1);  // the offer
                ::send(one.number(), answer.data(), answer.size(), MSG_NOSIGNAL);
            } while (net::wait_until_ready(listener, POLLIN, Clock::now() + 20ms, -1) == 0);
        });
        expect_complaint([&] { connect_shared_memory(folder / "david", generous_limits); },
                         "the shared memory was not taken");
        thread.join();
    }
}

/// A frame that is longer than any, in David's place.
TEST(SharedMemoryServer, WIRE_9_a_david_who_announces_too_much_ends_the_session) {
    const Model model(local_shapes, Fill::random, 1);
    const TemporaryFolder folder;
    SharedMemoryServer server(
        folder / "david", std::nullopt, {.max_sessions = 4, .limits = generous_limits},
        [](Transport& charlie) {
            charlie.await_frame();
            charlie.send(Bytes(4, std::byte{0xff}));
            charlie.await_frame();  // until he has gone
        },
        [](const std::string&) {});
    std::thread thread([&] { server.run(); });
    expect_complaint([&] { LocalClient client(model, folder / "david"); },
                     "announces 4294967295 bytes");
    server.stop();
    thread.join();
}

/// More than the rings hold: David reads on, so that his REFUSE arrives (SESS-9).
TEST(SharedMemoryServer, WIRE_9_a_malformed_frame_is_refused_and_the_refusal_arrives) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    const auto transport = connect_shared_memory(server.name(), generous_limits);
    transport->send(Bytes(std::size_t{1} << 24, std::byte{0x55}));
    Bytes answer(6);
    transport->receive(answer);
    EXPECT_EQ(answer, wire::encode_refuse(wire::Refusal::malformed));
    EXPECT_THROW(transport->receive(std::span(answer).first(1)), ProtocolError);
}

TEST(SharedMemoryServer, WIRE_7_sessions_beyond_the_limit_are_told_that_david_is_busy) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model, generous_limits, 1);
    {
        LocalClient one(model, server.name());
        try {
            LocalClient second(model, server.name());
            ADD_FAILURE() << "a second session was opened";
        } catch (const Refused& refused) {
            EXPECT_EQ(refused.reason(), Refusal::busy) << refused.what();
        }
        EXPECT_TRUE(works(one, model));
    }
    EXPECT_TRUE(serves_soon(server, model)) << "the place is free again";
}

TEST(SharedMemoryServer, SESS_8_silent_connections_give_way) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model, generous_limits, 2);  // room for four
    std::vector<OwnDescriptor> silent;
    for (int i = 0; i < 8; ++i) silent.push_back(plain(server.name()));
    LocalClient client(model, server.name());
    EXPECT_TRUE(works(client, model));
    EXPECT_TRUE(server.reports("too many connections"));
}

TEST(SharedMemoryServer, SESS_4_one_killed_within_a_frame_hurts_no_other) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model, generous_limits, 2);
    LocalClient one(model, server.name());
    for (int i = 0; i < 3; ++i) {  // more often than there are places
        const auto killed = connect_shared_memory(server.name(), generous_limits);
        const Bytes hello = hello_for(model);
        killed->send(std::span(hello).first(20));
    }
    EXPECT_TRUE(server.reports("ended the connection"));
    EXPECT_TRUE(works(one, model));
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(SharedMemoryServer, stop_ends_sessions_that_hang) {
    const Model model(local_shapes, Fill::random, 1);
    LocalServer server(model);
    const OwnDescriptor silent = plain(server.name());
    LocalClient client(model, server.name());
    EXPECT_TRUE(works(client, model));
    server.stop();
    EXPECT_THROW(works(client, model), ProtocolError);
    EXPECT_TRUE(is_ended(silent));
    EXPECT_TRUE(server.folder.empty());
    expect_complaint([&] { connect_shared_memory(server.name(), generous_limits); },
                     "No such file");
}

TEST(SharedMemoryServer, stop_before_run_and_twice_is_harmless) {
    const TemporaryFolder folder;
    SharedMemoryServer server(
        folder / "david", std::nullopt, {}, [](Transport&) {}, [](const std::string&) {});
    server.stop();
    server.run();
    server.stop();
}

}  // namespace
}  // namespace slip::testing
