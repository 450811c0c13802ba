// A client that sends bytes as a test has them.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "programs/endpoint/net/server.hpp"

namespace slip::endpoint {

/// A connection to a server of this machine.
class Client {
public:
    explicit Client(const Server& server) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(server.port());
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client() { ::close(socket_); }

    void send(const std::string& text) const {
        EXPECT_EQ(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// All that comes until the connection ends.
    std::string receive() const {
        std::string all;
        std::array<char, 4096> part{};
        ssize_t size = 0;
        while ((size = ::recv(socket_, part.data(), part.size(), 0)) > 0) {
            all.append(part.data(), static_cast<std::size_t>(size));
        }
        return all;
    }

private:
    const int socket_;
};

}  // namespace slip::endpoint
