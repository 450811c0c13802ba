// Who wakes, and when: a wait for the peer looks before it sleeps (TimeLimits::awake), and what a
// peer sends wakes the thread of his session alone.
// test: threads
#include <dlfcn.h>
#include <poll.h>
#include <sys/epoll.h>

#include <atomic>
#include <functional>

#include "optimized/base/parallel.hpp"
#include "property_tests/generators/deadline.hpp"
#include "property_tests/net/deployment.hpp"

namespace slip::testing {
namespace {

/// What this thread's waits asked the system for.
struct Watch {
    int looks = 0;   // without sleeping
    int sleeps = 0;  // for a time
    std::function<void()> before;
};
thread_local Watch* watch = nullptr;
/// How often any thread has returned from waiting for events.
std::atomic<int> events = 0;

}  // namespace
}  // namespace slip::testing

/// Counts, and does what the system's does.
extern "C" int poll(pollfd* descriptors, nfds_t count, int timeout) {
    static const auto system = reinterpret_cast<decltype(&poll)>(::dlsym(RTLD_NEXT, "poll"));
    if (auto* const watch = slip::testing::watch) {
        ++(timeout == 0 ? watch->looks : watch->sleeps);
        watch->before();
    }
    return system(descriptors, count, timeout);
}

extern "C" int epoll_wait(int set, epoll_event* found, int most, int timeout) {
    static const auto system =
        reinterpret_cast<decltype(&epoll_wait)>(::dlsym(RTLD_NEXT, "epoll_wait"));
    const int count = system(set, found, most, timeout);
    ++slip::testing::events;
    return count;
}

namespace slip::testing {
namespace {

/// One wait for a David who answers when `until` holds of it, and not before.
Watch wait_awake(std::chrono::microseconds awake, const std::function<bool(const Watch&)>& until) {
    std::atomic<bool> answered = false;
    const Party david = options_of("ours", net::Role::david);
    TlsServer server(
        {"127.0.0.1", "0"}, david.folder, {.max_sessions = 1, .limits = david.limits},
        [&](Transport& charlie) {
            while (!answered) std::this_thread::sleep_for(1ms);
            charlie.send(Bytes(1));
        },
        [](const std::string&) {});
    std::thread serving([&] { server.run(); });
    Party charlie = options_of("ours", net::Role::charlie);
    charlie.limits.awake = awake;
    const auto transport = connect_as({"127.0.0.1", std::to_string(server.port())}, charlie);
    // In the handshake he may have met others who want the processor; that is forgotten by then.
    std::this_thread::sleep_for(100ms);

    Watch found;
    found.before = [&] { answered = answered || until(found); };
    watch = &found;
    transport->await_frame();
    watch = nullptr;
    server.stop();
    serving.join();
    return found;
}

TEST(Awake, SESS_8_a_wait_keeps_the_processor_for_a_while_and_then_sleeps) {
    const slip::testing::Deadline deadline;
    const auto sleeps = [](const Watch& wait) { return wait.sleeps > 0; };
    EXPECT_EQ(wait_awake(0us, sleeps).looks, 0) << "never awake";
    EXPECT_GE(wait_awake(0us, sleeps).sleeps, 1);
    if (base::available_threads() == 1) GTEST_SKIP() << "nobody else could answer meanwhile";
    const Watch both = wait_awake(1us, sleeps);
    EXPECT_GE(both.looks, 1) << "before the first sleep";
    EXPECT_GE(both.sleeps, 1);
    EXPECT_GE(wait_awake(1h, [](const Watch& wait) { return wait.looks > 0; }).looks, 1);
    EXPECT_GE(wait_awake(TimeLimits{}.awake, sleeps).looks, 1) << "the default";
}

TEST(Awake, SESS_8_what_a_peer_sends_does_not_wake_the_thread_that_accepts) {
    const slip::testing::Deadline deadline;
    constexpr int rounds = 50;
    const Party david = options_of("ours", net::Role::david);
    TlsServer server(
        {"127.0.0.1", "0"}, david.folder, {.max_sessions = 1, .limits = david.limits},
        [&](Transport& charlie) {
            Bytes frame(1);
            for (int i = 0; i <= rounds; ++i) {
                std::this_thread::sleep_for(2ms);  // the frame is there before he looks
                charlie.await_frame();
                charlie.receive(frame);
                charlie.send(frame);
            }
        },
        [](const std::string&) {});
    std::thread serving([&] { server.run(); });
    const auto transport = connect_as({"127.0.0.1", std::to_string(server.port())},
                                      options_of("ours", net::Role::charlie));
    Bytes frame(1);
    const auto round = [&] {
        transport->send(frame);
        transport->await_frame();
        transport->receive(frame);
    };
    round();
    EXPECT_GE(events, 1) << "the connection was not accepted by way of epoll_wait()";
    const int before = events;
    for (int i = 0; i < rounds; ++i) round();
    EXPECT_LT(events - before, rounds / 10);
    server.stop();
    serving.join();
}

}  // namespace
}  // namespace slip::testing
