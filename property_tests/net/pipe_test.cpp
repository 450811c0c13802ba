// Frames over file descriptors: pipes and sockets, between threads and between processes.
// test: threads
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "property_tests/generators/transport_ends.hpp"

namespace slip::testing {
namespace {

using namespace protocol;

/// One end is a transport, the other a bare socket that the test does with what it likes.
struct Bare {
    explicit Bare(const TimeLimits& limits = generous_limits) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
        transport = open_pipe(ends[0], ends[0], limits);
        peer = ends[1];
    }
    Bare(const Bare&) = delete;
    Bare& operator=(const Bare&) = delete;
    ~Bare() { hang_up(); }

    void write(const Bytes& bytes) const {
        EXPECT_EQ(::write(peer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    void hang_up() {
        if (peer >= 0) ::close(peer);
        peer = -1;
    }

    std::unique_ptr<Transport> transport;
    int peer = -1;
};

TEST(Pipe, LIN_4_a_session_between_two_threads_gives_the_exact_products) {
    for (const Medium medium : media) {
        const Model model(small_shapes, Fill::random, 1);
        Ends ends = connect(medium);
        bool finished = false;
        std::thread thread([&] {
            DavidSession david(model.david);
            serve(david, *ends.david);
            finished = david.finished();
        });
        EXPECT_TRUE(works(*ends.charlie, model));
        thread.join();
        EXPECT_TRUE(finished) << "CLOSE has reached David";
    }
}

TEST(Pipe, LIN_4_a_session_between_two_processes_gives_the_exact_products) {
    for (const Medium medium : media) {
        const Model model(small_shapes, Fill::random, 1);
        Ends ends = connect(medium);
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            ends.charlie.reset();
            DavidSession david(model.david);
            serve(david, *ends.david);
            ::_exit(david.finished() ? 0 : 1);
        }
        ends.david.reset();
        EXPECT_TRUE(works(*ends.charlie, model));
        int status = -1;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
}

/// More than a pipe and a socket hold, to a peer who reads little by little.
TEST(Pipe, a_frame_larger_than_the_buffers_arrives_whole) {
    for (const Medium medium : media) {
        Ends ends = connect(medium);
        const Bytes bytes = random_bytes(3'000'001);
        std::thread thread([&] { ends.charlie->send(bytes); });
        Bytes received(bytes.size());
        for (std::size_t at = 0; at < received.size();) {
            const std::size_t size = std::min<std::size_t>(100'000, received.size() - at);
            if (at == 0) std::this_thread::sleep_for(50ms);
            ends.david->receive(std::span(received).subspan(at, size));
            at += size;
        }
        thread.join();
        EXPECT_EQ(received, bytes);
    }
}

TEST(Pipe, bytes_that_come_one_by_one_are_put_together) {
    const Bare bare;
    const Bytes bytes = random_bytes(20);
    std::thread thread([&] {
        for (const std::byte byte : bytes) {
            bare.write({byte});
            std::this_thread::sleep_for(2ms);
        }
    });
    Bytes received(bytes.size());
    bare.transport->await_frame();
    bare.transport->receive(std::span(received).first(7));
    bare.transport->receive(std::span(received).subspan(7));
    thread.join();
    EXPECT_EQ(received, bytes);
}

TEST(Pipe, SESS_1_the_end_of_the_stream_is_a_protocol_error) {
    std::array<std::byte, 4> four{};
    Bare bare;
    bare.write(Bytes(3));
    bare.hang_up();
    bare.transport->await_frame();
    expect_complaint([&] { bare.transport->receive(four); }, "the peer ended the connection");
    expect_complaint([&] { bare.transport->receive(four); }, "the peer ended the connection");
}

/// Whether SIGPIPE is pending for this thread or blocked by it.
bool sigpipe_shows() {
    sigset_t pending;
    sigset_t blocked;
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return ::sigismember(&pending, SIGPIPE) == 1 || ::sigismember(&blocked, SIGPIPE) == 1;
}

TEST(Pipe, SESS_1_writing_to_a_peer_who_is_gone_is_a_protocol_error_and_no_signal) {
    for (const Medium medium : media) {
        Ends ends = connect(medium);
        ends.david.reset();
        const Bytes bytes(100);
        expect_complaint([&] { ends.charlie->send(bytes); }, "the peer ended the connection");
        EXPECT_FALSE(sigpipe_shows());
    }
}

std::atomic<int> signals_seen{0};

TEST(Pipe, a_signal_of_the_program_s_own_is_left_to_the_program) {
    sigset_t only;
    sigset_t before;
    ::sigemptyset(&only);
    ::sigaddset(&only, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &only, &before);
    ::pthread_kill(::pthread_self(), SIGPIPE);
    Ends ends = connect(Medium::pipes);
    ends.david.reset();
    const Bytes bytes(100);
    EXPECT_THROW(ends.charlie->send(bytes), ProtocolError);
    constexpr timespec at_once{0, 0};
    EXPECT_EQ(::sigtimedwait(&only, nullptr, &at_once), SIGPIPE) << "it is still pending";
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(Pipe, an_interrupted_wait_goes_on) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = [](int) { ++signals_seen; };  // without SA_RESTART
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    const Bare bare;
    const pthread_t reader = ::pthread_self();
    std::thread thread([&] {
        for (int i = 0; i < 10; ++i) {
            ::pthread_kill(reader, SIGUSR1);
            std::this_thread::sleep_for(5ms);
        }
        bare.write(Bytes(4));
    });
    std::array<std::byte, 4> four{};
    bare.transport->await_frame();
    bare.transport->receive(four);
    thread.join();
    EXPECT_GT(signals_seen, 0);
    ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Pipe, SESS_8_a_frame_has_its_timeout_and_the_time_between_frames_its_patience) {
    const Bare bare({100ms, 120s});
    std::array<std::byte, 4> four{};
    const auto start = Clock::now();
    expect_complaint([&] { bare.transport->receive(four); }, "in time");
    EXPECT_GE(Clock::now() - start, 100ms);
    EXPECT_LT(Clock::now() - start, 60s);

    std::thread late([&] {
        std::this_thread::sleep_for(300ms);
        bare.write(Bytes(4));
    });
    bare.transport->await_frame();  // longer than a frame may pause, and no error
    bare.transport->receive(four);
    late.join();

    const Bare silent({120s, 100ms});
    expect_complaint([&] { silent.transport->await_frame(); }, "in time");
}

TEST(Pipe, SESS_8_a_byte_now_and_then_does_not_move_the_limit) {
    const Bare bare({300ms, 120s});
    std::atomic<bool> stop{false};
    std::thread drip([&] {
        while (!stop) {
            bare.write(Bytes(1));
            std::this_thread::sleep_for(20ms);
        }
    });
    Bytes frame(1000);
    expect_complaint([&] { bare.transport->receive(frame); }, "in time");
    stop = true;
    drip.join();
}

TEST(Pipe, SESS_8_a_peer_who_does_not_read_is_given_up) {
    for (const Medium medium : media) {
        Ends ends = connect(medium, {100ms, 120s});
        const Bytes bytes(std::size_t{3} << 19);
        const auto start = Clock::now();
        expect_complaint([&] { ends.charlie->send(bytes); }, "in time");
        EXPECT_GE(Clock::now() - start, 1100ms) << "a second more for the MiB";
    }
}

TEST(Pipe, SESS_4_a_session_whose_peer_is_gone_is_dead) {
    const Model model(small_shapes, Fill::random, 1);
    Ends ends = connect(Medium::socket);
    ends.david.reset();
    EXPECT_THROW(works(*ends.charlie, model), ProtocolError);

    Ends other = connect(Medium::socket);
    other.charlie.reset();
    DavidSession david(model.david);
    EXPECT_THROW(serve(david, *other.david), ProtocolError);
}

TEST(Pipe, descriptors_that_are_not_open_are_bad_input_and_open_ones_are_closed) {
    EXPECT_THROW(open_pipe(-1, -1), BadInput);
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    EXPECT_THROW(open_pipe(ends[0], -1), BadInput);
    EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1) << "the transport owns what it was given";
    ::close(ends[1]);

    ASSERT_EQ(::pipe(ends.data()), 0);
    open_pipe(ends[0], ends[1]).reset();
    EXPECT_EQ(::fcntl(ends[0], F_GETFD), -1);
    EXPECT_EQ(::fcntl(ends[1], F_GETFD), -1);
}

}  // namespace
}  // namespace slip::testing
