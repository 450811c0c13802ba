// Both ends of a connection, over everything that carries one between processes of a machine.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optimized/net/shared_memory_connection.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "slip/transport.hpp"

namespace slip::fixture {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

inline constexpr TimeLimits generous_limits{120s, 120s};  // however loaded the machine is

struct Ends {
    std::unique_ptr<Transport> charlie;
    std::unique_ptr<Transport> david;
};

/// Over one socket, two pipes, or shared memory.
enum class Medium { socket, pipes, shared_memory };
inline constexpr Medium media[] = {Medium::socket, Medium::pipes, Medium::shared_memory};

/// Two connected sockets.
inline std::array<net::OwnDescriptor, 2> sockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {net::OwnDescriptor(ends[0]), net::OwnDescriptor(ends[1])};
}

/// Through memory of Charlie's, which David gets as he does from a client.
inline Ends connect_shared_memory(const TimeLimits& limits) {
    using net::SharedMemoryConnection;
    using Side = SharedMemoryConnection::Side;
    auto [one, other] = sockets();
    net::SharedRegion region;
    net::send_region(one, region);
    net::SharedRegion received = net::receive_region(other, Clock::now() + 120s, -1);
    return {std::make_unique<SharedMemoryConnection>(Side::charlie, std::move(one),
                                                     std::move(region), limits, "shm:test"),
            std::make_unique<SharedMemoryConnection>(Side::david, std::move(other),
                                                     std::move(received), limits, "uid=0")};
}

inline Ends connect(Medium medium, const TimeLimits& limits = generous_limits) {
    if (medium == Medium::socket) {
        auto [charlie, david] = make_transport_pair(limits);
        return {std::move(charlie), std::move(david)};
    }
    if (medium == Medium::shared_memory) return connect_shared_memory(limits);
    std::array<int, 2> up{};
    std::array<int, 2> down{};
    EXPECT_EQ(::pipe(up.data()), 0);
    EXPECT_EQ(::pipe(down.data()), 0);
    return {open_pipe(down[0], up[1], limits), open_pipe(up[0], down[1], limits)};
}

inline Bytes random_bytes(std::size_t size, std::uint64_t seed = 1) {
    Random random(seed);
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

/// What a ProtocolError says, or "nothing was thrown".
inline std::string complaint(const std::function<void()>& action) {
    try {
        action();
    } catch (const ProtocolError& error) {
        return error.what();
    }
    return "nothing was thrown";
}

inline void expect_complaint(const std::function<void()>& action, const std::string& text) {
    const std::string what = complaint(action);
    EXPECT_NE(what.find(text), std::string::npos) << what;
}

inline const std::vector<Shape> small_shapes = {{9, 5}, {3, 7}, {40, 300}};

inline bool works(Transport& transport, const Model& model) {
    Charlie charlie(model, transport, pool_of(4));
    return gives_exact_products(charlie, model, 1) && gives_exact_products(charlie, model, 700);
}

}  // namespace slip::fixture
