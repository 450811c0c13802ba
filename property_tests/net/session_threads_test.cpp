// What threads of connections do when memory runs out.
// test: threads
#include "optimized/net/session_threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>

namespace slip::net {
namespace {

/// A connection whose peer may open a session and sends nothing.
class Silent : public ServedConnection {
public:
    explicit Silent(std::atomic<int>& ended) : ended_(ended) {}
    void send(std::span<const std::byte> /*bytes*/) override {}
    void receive(std::span<std::byte> /*bytes*/) override {}
    void handshake(const std::function<void()>& /*heard*/) override {}
    void finish() noexcept override { ++ended_; }
    bool has_unread_bytes() noexcept override { return false; }

private:
    std::atomic<int>& ended_;
};

TEST(SessionThreads, SESS_13_a_session_without_memory_ends_alone_also_if_no_line_can_be_written) {
    std::atomic<int> ended{0}, reports{0};
    SessionThreads threads(
        4, [](Transport&) { throw std::bad_alloc(); },
        [&](const std::string&) {
            ++reports;
            throw std::bad_alloc();
        });
    for (int i = 0; i < 3; ++i) {
        threads.begin("peer", "origin", [&] { return std::make_unique<Silent>(ended); });
    }
    threads.begin("peer", "origin",
                  []() -> std::unique_ptr<ServedConnection> { throw std::bad_alloc(); });
    threads.stop();
    EXPECT_EQ(ended, 3);
    EXPECT_EQ(reports, 4);
}

}  // namespace
}  // namespace slip::net
