// What the tests over the loopback interface share: two deployments with their certificates, a
// David who serves, and clients.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "optimized/net/certificates.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "property_tests/net/serving_david.hpp"
#include "slip/tls.hpp"

namespace slip::testing {

namespace fs = std::filesystem;

/// Two deployments, made once: ours, and another with an authority of its own.
struct Deployments {
    Deployments() {
        make_keys(folder.path() / "ours");
        make_keys(folder.path() / "theirs");
        net::make_keys(folder.path() / "expired",
                       {.begins = -480h, .authority_ends = 24h, .leaf_ends = -24h});
        net::make_keys(folder.path() / "future",
                       {.begins = 24h, .authority_ends = 480h, .leaf_ends = 480h});
    }
    TemporaryFolder folder;

    static const fs::path& path() {
        static const Deployments deployments;
        return deployments.folder.path();
    }
};

/// A party's folder, and how long it waits.
struct Party {
    fs::path folder;
    TimeLimits limits;
};

inline Party options_of(const std::string& deployment, net::Role role) {
    Party options;
    options.folder = Deployments::path() / deployment / net::name_of(role);
    options.limits = generous_limits;
    return options;
}

inline std::unique_ptr<Transport> connect_as(const Endpoint& endpoint, const Party& charlie) {
    return connect_tls(endpoint, charlie.folder, charlie.limits);
}

/// A David on a free port.
class RunningServer : public ServingDavid<TlsServer> {
public:
    explicit RunningServer(const Model& model,
                           const Party& tls = options_of("ours", net::Role::david),
                           std::size_t max_sessions = 8)
        : ServingDavid(model, {.max_sessions = max_sessions, .limits = tls.limits},
                       Endpoint{"127.0.0.1", "0"}, tls.folder) {}
    Endpoint endpoint() const { return {"127.0.0.1", std::to_string(server().port())}; }
    void reload() { server().reload(); }
};

struct Client : ConnectedCharlie {
    Client(const Model& model, const Endpoint& endpoint,
           const Party& tls = options_of("ours", net::Role::charlie))
        : ConnectedCharlie(model, connect_as(endpoint, tls)) {}
};

inline bool serves(const RunningServer& server, const Model& model) {
    Client client(model, server.endpoint());
    return works(client, model);
}

/// The same, once the server has noticed that others are gone.
inline bool serves_soon(const RunningServer& server, const Model& model) {
    return works_soon(model, [&] {
        return connect_as(server.endpoint(), options_of("ours", net::Role::charlie));
    });
}

/// A TCP connection that speaks whatever the test makes it speak.
class PlainSocket {
public:
    explicit PlainSocket(const Endpoint& endpoint)
        : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.port)));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{generous.count(), 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        connected =
            ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    PlainSocket(const PlainSocket&) = delete;
    PlainSocket& operator=(const PlainSocket&) = delete;
    ~PlainSocket() { ::close(descriptor_); }

    void send(const std::string& text) {
        EXPECT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// Whether the server ends the connection within a generous time.
    bool is_ended() {
        char buffer[4096];
        for (;;) {
            const ssize_t size = ::recv(descriptor_, buffer, sizeof buffer, 0);
            if (size == 0 || (size < 0 && errno == ECONNRESET)) return true;
            if (size < 0) return false;
        }
    }
    /// Whether the server has ended the connection by now.
    bool has_ended() {
        char byte = 0;
        const ssize_t size = ::recv(descriptor_, &byte, 1, MSG_DONTWAIT);
        return size == 0 || (size < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    }
    bool connected = false;

private:
    int descriptor_;
};

inline const std::vector<Shape> shapes = {{9, 5}, {3, 7}};

}  // namespace slip::testing
