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

#include "property_tests/generators/protocol_fixture.hpp"
#include "slip/transport.hpp"

namespace slip::testing {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// What no peer exceeds who does his part, however loaded the machine is.
inline constexpr auto generous = 120s;
inline constexpr TimeLimits generous_limits{generous, generous};

struct Ends {
    std::unique_ptr<Transport> charlie;
    std::unique_ptr<Transport> david;
};

/// Over one socket, two pipes, or shared memory.
enum class Medium { socket, pipes, shared_memory };
inline constexpr Medium media[] = {Medium::socket, Medium::pipes, Medium::shared_memory};

/// Through memory of Charlie's.
inline Ends connect_in_memory(const TimeLimits& limits) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    auto charlie = offer_shared_memory(ends[0], limits);
    return {std::move(charlie), accept_shared_memory(ends[1], limits)};
}

inline Ends connect(Medium medium, const TimeLimits& limits = generous_limits) {
    if (medium == Medium::socket) {
        auto [charlie, david] = make_transport_pair(limits);
        return {std::move(charlie), std::move(david)};
    }
    if (medium == Medium::shared_memory) return connect_in_memory(limits);
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
    Charlie charlie(model, transport, stock_of(4));
    return gives_exact_products(charlie, model, 1) && gives_exact_products(charlie, model, 700);
}

}  // namespace slip::testing
