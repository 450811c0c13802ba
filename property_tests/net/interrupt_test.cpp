// Attempts to connect that a peer lets wait, and what ends them at once: Transport::interrupt().
#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "optimized/api/offline_peer.hpp"
#include "optimized/net/deadline.hpp"
#include "property_tests/generators/deadline.hpp"
#include "property_tests/net/deployment.hpp"
#include "property_tests/protocol/offline_server.hpp"

namespace slip::fixture {
namespace {

constexpr const char* silent_name = "silent.example";

/// Every look-up of silent_name waits for this. Threads of look-ups that nobody waits for any more
/// may still read it when the program ends.
std::atomic<bool> name_server_answers = false;

}  // namespace
}  // namespace slip::fixture

/// In place of the system's: no answer comes for one name.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
    if (node != nullptr && std::string_view(node) == slip::fixture::silent_name) {
        while (!slip::fixture::name_server_answers) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return EAI_AGAIN;
    }
    static const auto system =
        reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return system(node, service, hints, result);
}

namespace slip::fixture {
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

Party patient_charlie() {
    Party charlie = options_of("ours", net::Role::charlie);
    charlie.limits.timeout = charlie.limits.patience = 1h;
    return charlie;
}

/// The first use of a connection to `endpoint` ends when it is interrupted, soon after it has begun
/// or before, and so does every later one.
void expect_interruptible(const Endpoint& endpoint) {
    const Party charlie = patient_charlie();
    for (const auto head_start : {0ms, 50ms}) {
        const auto transport =
            connect_tls_at_first_use(endpoint, charlie.folder, charlie.limits, ServerRole::offline);
        EXPECT_EQ(transport->peer_name(), describe(endpoint));
        std::string said;
        std::thread user([&] {
            try {
                transport->send(Bytes(1));
            } catch (const ProtocolError& error) {
                said = error.what();
            }
        });
        std::this_thread::sleep_for(head_start);
        transport->interrupt();
        user.join();
        EXPECT_NE(said.find(describe(endpoint) + ": "), std::string::npos) << said;
        EXPECT_THROW(transport->send(Bytes(1)), ProtocolError);
    }
}

TEST(Interrupt, SESS_8_ends_a_look_up_a_connection_and_a_handshake) {
    const slip::testing::Deadline deadline;
    expect_interruptible({silent_name, "1"});
    name_server_answers = true;
    SilentListener listener;
    expect_interruptible(listener.endpoint);
    listener.fill();
    expect_interruptible(listener.endpoint);
}

TEST(Interrupt, SESS_8_a_connection_that_is_made_at_its_first_use_works) {
    const Model model(fixture::shapes, Fill::random, 1);
    RunningServer server(model);
    const Party charlie = patient_charlie();
    const auto transport =
        connect_tls_at_first_use(server.endpoint(), charlie.folder, charlie.limits);
    protocol::CharlieSession<kernels::P31> session(model.weights(), model.david.digest, *transport,
                                                   pool_of(4));
    EXPECT_TRUE(gives_exact_products(session, model, 2));
    transport->interrupt();
    EXPECT_THROW(gives_exact_products(session, model, 2), ProtocolError);
    EXPECT_THROW(connect_tls_at_first_use(server.endpoint(), charlie.folder / "nothing"), BadInput);
}

/// A D2 who lets Charlie wait for a handshake, at the first call, does not hold up the end of the
/// session.
TEST(Interrupt, OFF_11_a_session_ends_while_a_d2_lets_it_wait_for_a_connection) {
    const slip::testing::Deadline deadline;
    const Model model(fixture::shapes, Fill::random, 1);
    const SilentListener silent;
    const Party charlie = patient_charlie();
    OfflineServer well(model);
    protocol::SessionOptions options = with_offline({&well});
    options.offline.peers.push_back(api::connect_offline(describe(silent.endpoint), "--offline",
                                                         nullptr, charlie.folder, charlie.limits));
    Connection<kernels::P31> connection(model, options);
    EXPECT_TRUE(steps_are_exact(connection.charlie, model, 3));
    connection.charlie.close();
    EXPECT_FALSE(connection.charlie.alive());
}

}  // namespace
}  // namespace slip::fixture
