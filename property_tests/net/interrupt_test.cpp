// A peer who lets Charlie wait for a connection, and Transport::interrupt(), which ends a wait in a
// session at once.
// test: threads
#include <dlfcn.h>
#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string_view>
#include <thread>

#include "property_tests/generators/deadline.hpp"
#include "property_tests/net/deployment.hpp"

namespace slip::testing {
namespace {

constexpr const char* silent_name = "silent.example";

/// Every look-up of silent_name waits for this. Threads of look-ups that nobody waits for any more
/// may still read it when the program ends.
std::atomic<bool> name_server_answers = false;

}  // namespace
}  // namespace slip::testing

/// In place of the system's: no answer comes for one name.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    if (node != nullptr && std::string_view(node) == slip::testing::silent_name) {
        while (!slip::testing::name_server_answers) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return EAI_AGAIN;
    }
    static const auto system =
        reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return system(node, service, hints, result);
}

namespace slip::testing {
namespace {

sockaddr* raw(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

/// Has a port and accepts nobody. The system completes connections in his place.
class SilentListener {
public:
    SilentListener() {
        address_.sin_family = AF_INET;
        address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address_;
        const int listener = add_socket(0);
        EXPECT_EQ(::bind(listener, raw(address_), size), 0);
        EXPECT_EQ(::listen(listener, 1), 0);
        EXPECT_EQ(::getsockname(listener, raw(address_), &size), 0);
        endpoint = {"127.0.0.1", std::to_string(ntohs(address_.sin_port))};
    }
    SilentListener(const SilentListener&) = delete;
    SilentListener& operator=(const SilentListener&) = delete;
    ~SilentListener() {
        for (const int socket : sockets_) ::close(socket);
    }

    /// Until the system answers nobody any more.
    void fill() {
        for (int i = 0; i < 8; ++i) {
            ::connect(add_socket(SOCK_NONBLOCK), raw(address_), sizeof address_);
        }
    }

    Endpoint endpoint;

private:
    int add_socket(int flags) {
        return sockets_.emplace_back(::socket(AF_INET, SOCK_STREAM | flags, 0));
    }

    sockaddr_in address_{};
    std::vector<int> sockets_;
};

/// No attempt to connect to `endpoint` outlasts Charlie's time limit.
void expect_given_up(const Endpoint& endpoint) {
    Party charlie = options_of("ours", net::Role::charlie);
    charlie.limits.timeout = 200ms;
    try {
        connect_as(endpoint, charlie);
        ADD_FAILURE() << "there is a connection";
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find(describe(endpoint) + ": "), std::string::npos)
            << error.what();
    }
}

TEST(Interrupt, SESS_8_a_look_up_a_connection_and_a_handshake_are_given_up) {
    const slip::testing::Deadline deadline;
    expect_given_up({silent_name, "1"});
    name_server_answers = true;
    SilentListener listener;
    expect_given_up(listener.endpoint);
    listener.fill();
    expect_given_up(listener.endpoint);
}

/// An eventfd for TimeLimits::stop.
struct StopFlag {
    StopFlag() = default;
    StopFlag(const StopFlag&) = delete;
    StopFlag& operator=(const StopFlag&) = delete;
    ~StopFlag() { ::close(descriptor); }
    void set() const { ::eventfd_write(descriptor, 1); }

    const int descriptor = ::eventfd(0, EFD_CLOEXEC);
};

Party stopped_by(const StopFlag& flag) {
    Party charlie = options_of("ours", net::Role::charlie);
    charlie.limits.timeout = charlie.limits.patience = 1h;
    charlie.limits.stop = flag.descriptor;
    return charlie;
}

/// `wait` fails with ProtocolError soon after the flag is set.
void expect_called_off(const StopFlag& flag, const std::function<void()>& wait) {
    std::thread setter([&] {
        std::this_thread::sleep_for(30ms);
        flag.set();
    });
    EXPECT_THROW(wait(), ProtocolError);
    setter.join();
}

/// A look-up, a connection, a handshake and a frame that do not come.
TEST(Interrupt, SERVE_9_one_flag_ends_every_wait) {
    const slip::testing::Deadline deadline;
    name_server_answers = false;
    SilentListener silent;
    SilentListener full;
    full.fill();
    for (const Endpoint& endpoint : {Endpoint{silent_name, "1"}, silent.endpoint, full.endpoint}) {
        const StopFlag flag;
        expect_called_off(flag, [&] { connect_as(endpoint, stopped_by(flag)); });
    }
    name_server_answers = true;
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const StopFlag flag;
    const auto transport = connect_as(server.endpoint(), stopped_by(flag));
    expect_called_off(flag, [&] { transport->await_frame(); });
    EXPECT_THROW(connect_as(server.endpoint(), stopped_by(flag)), ProtocolError);
}

TEST(Interrupt, SERVE_9_over_a_pipe_too) {
    const slip::testing::Deadline deadline;
    const StopFlag flag;
    TimeLimits limits;
    limits.stop = flag.descriptor;
    const auto [ours, theirs] = make_transport_pair(limits);
    expect_called_off(flag, [&] { ours->await_frame(); });
    std::vector<std::byte> more_than_a_socket_takes(std::size_t{8} << 20);
    EXPECT_THROW(ours->send(more_than_a_socket_takes), ProtocolError);
}

/// Whoever is idle sees that his peer has gone, and nothing else.
TEST(Interrupt, SERVE_9_an_end_is_seen_between_two_frames) {
    const slip::testing::Deadline deadline;
    const Model model(shapes, Fill::random, 1);
    auto server = std::make_unique<RunningServer>(model);
    const auto transport = connect_as(server->endpoint(), options_of("ours", net::Role::charlie));
    EXPECT_FALSE(transport->ended());
    server.reset();
    EXPECT_TRUE(transport->ended());

    auto [ours, theirs] = make_transport_pair();
    EXPECT_FALSE(ours->ended());
    theirs->send(std::array{std::byte{1}});
    EXPECT_FALSE(ours->ended());
    theirs.reset();
    EXPECT_TRUE(ours->ended());
}

/// A wait for David, who waits for HELLO, ends when it is interrupted, soon after it has begun or
/// before, and so does every later one.
TEST(Interrupt, SESS_8_ends_a_wait_for_david) {
    const slip::testing::Deadline deadline;
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    Party charlie = options_of("ours", net::Role::charlie);
    charlie.limits.timeout = charlie.limits.patience = 1h;
    for (const auto head_start : {0ms, 50ms}) {
        const auto transport = connect_as(server.endpoint(), charlie);
        std::atomic<bool> failed = false;
        std::thread user([&] {
            try {
                transport->await_frame();
            } catch (const ProtocolError&) {
                failed = true;
            }
        });
        std::this_thread::sleep_for(head_start);
        transport->interrupt();
        user.join();
        EXPECT_TRUE(failed);
        EXPECT_THROW(transport->await_frame(), ProtocolError);
    }
}

}  // namespace
}  // namespace slip::testing
