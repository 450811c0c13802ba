// Frames through shared memory, between threads and between processes, and peers who write into it
// what they like.
// test: threads
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <cstring>
#include "optimized/net/shared_memory_connection.hpp"
#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/generators/transport_ends.hpp"

namespace slip::testing {
namespace {

using namespace protocol;
using net::OwnDescriptor;
using net::Ring;
using net::RingPositions;
using net::SharedMemoryConnection;
using net::SharedRegion;

/// Two connected sockets.
std::array<net::OwnDescriptor, 2> sockets() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    return {net::OwnDescriptor(ends[0]), net::OwnDescriptor(ends[1])};
}

std::string offer(const OwnDescriptor& memory, const std::string& greeting = "SLIPSHM1",
                  std::size_t count = 1);

/// A ring without a connection.
struct OwnRing {
    explicit OwnRing(std::size_t size) : data(size) {}
    std::vector<std::byte> data;
    RingPositions positions{};
    Ring writer{Ring::End::writer, positions, data};
    Ring reader{Ring::End::reader, positions, data};
};

TEST(SharedRing, SESS_11_what_is_written_is_read_in_order) {
    Random random(2);
    OwnRing ring(256);
    std::deque<std::byte> under_way;
    for (int step = 0; step < 20'000; ++step) {
        if (random() % 2 == 0) {
            const Bytes bytes = random_bytes(random() % 400, random());
            const std::size_t size = ring.writer.write(bytes);
            EXPECT_EQ(size, std::min(bytes.size(), 256 - under_way.size()));
            under_way.insert(under_way.end(), bytes.begin(),
                             bytes.begin() + static_cast<std::ptrdiff_t>(size));
        } else {
            Bytes bytes(random() % 400);
            const std::size_t size = ring.reader.read(bytes);
            ASSERT_EQ(size, std::min(bytes.size(), under_way.size()));
            for (std::size_t i = 0; i < size; ++i) {
                ASSERT_EQ(bytes[i], under_way.front());
                under_way.pop_front();
            }
        }
    }
}

/// Positions are modulo 2^32.
TEST(SharedRing, SESS_11_positions_wrap) {
    const std::size_t size = std::size_t{1} << 20;
    const std::size_t rounds = sanitized() ? 10 : (std::size_t{1} << 32) / size + 3;
    OwnRing ring(size);
    const Bytes bytes = random_bytes(size - 3);
    Bytes received(bytes.size());
    for (std::size_t i = 0; i < rounds; ++i) {
        ASSERT_EQ(ring.writer.write(bytes), bytes.size());
        ASSERT_EQ(ring.reader.read(received), bytes.size());
    }
    EXPECT_EQ(received, bytes);
    EXPECT_EQ(ring.positions.read, static_cast<std::uint32_t>(rounds * bytes.size()));
}

/// A position that the peer tells is taken only if an honest peer could have it.
TEST(SharedRing, SESS_11_an_impossible_position_is_refused) {
    Random random(3);
    for (int step = 0; step < 2'000; ++step) {
        OwnRing ring(64);
        const std::size_t unread = random() % 65;
        ring.writer.write(random_bytes(unread));
        EXPECT_EQ(ring.reader.available(), unread);
        const std::uint32_t told = random() % 4 == 0
                                       ? static_cast<std::uint32_t>(random())
                                       : static_cast<std::uint32_t>(random() % 200) - 70;
        ring.positions.read = told;
        if (told <= unread) {
            EXPECT_EQ(ring.writer.available(), 64 - unread + told);
        } else {
            EXPECT_THROW(ring.writer.available(), ProtocolError);
        }
        ring.positions.written = told;
        if (told >= unread && told <= 64) {
            EXPECT_EQ(ring.reader.available(), told);
        } else {
            EXPECT_THROW(ring.reader.available(), ProtocolError);
        }
    }
}

/// Runs `child` in another process, which has one end; returns its status.
int in_another_process(Ends ends, const std::function<int(Transport&)>& child,
                       const std::function<void(Transport&)>& here) {
    const pid_t process = ::fork();
    EXPECT_GE(process, 0);
    if (process == 0) {
        ends.charlie.reset();
        ::_exit(child(*ends.david));
    }
    ends.david.reset();
    here(*ends.charlie);
    ends.charlie.reset();
    int status = -1;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return status;
}

TEST(SharedMemory, SESS_11_what_a_peer_left_behind_is_read_before_his_end_is_noticed) {
    Ends ends = connect(Medium::shared_memory);
    ends.david->send(random_bytes(7));
    ends.david.reset();
    ends.charlie->await_frame();
    Bytes received(7);
    ends.charlie->receive(received);
    EXPECT_EQ(received, random_bytes(7));
    std::array<std::byte, 1> more{};
    expect_complaint([&] { ends.charlie->receive(more); }, "the peer ended the connection");
    expect_complaint([&] { ends.charlie->await_frame(); }, "the peer ended the connection");
}

/// Who is killed says nothing, and sleeps as he did.
TEST(SharedMemory, SESS_11_the_death_of_a_peer_is_noticed) {
    const auto dies = [](Transport& transport) {
        std::array<std::byte, 1> one{};
        transport.receive(one);
        ::kill(::getpid(), SIGKILL);
        return 0;
    };
    const auto waits = [](Transport& transport) {
        transport.send(Bytes(1));
        expect_complaint([&] { transport.await_frame(); }, "the peer ended the connection");
        const Bytes bytes(2 * SharedRegion::ring_bytes);
        expect_complaint([&] { transport.send(bytes); }, "the peer ended the connection");
    };
    EXPECT_TRUE(WIFSIGNALED(
        in_another_process(connect(Medium::shared_memory, {120s, 120s, 0us}), dies, waits)));
}

TEST(SharedMemory, an_interrupted_wait_ends) {
    Ends ends = connect(Medium::shared_memory, {120s, 120s, 0us});
    std::thread thread([&] {
        std::this_thread::sleep_for(50ms);
        ends.charlie->interrupt();
    });
    expect_complaint([&] { ends.charlie->await_frame(); }, "called off");
    thread.join();
    expect_complaint([&] { ends.david->await_frame(); }, "the peer ended the connection");
}

TEST(SharedMemory, SESS_8_a_frame_has_its_timeout_and_the_time_between_frames_its_patience) {
    Ends ends = connect(Medium::shared_memory, {100ms, 120s, 0us});
    std::array<std::byte, 4> four{};
    const auto start = Clock::now();
    expect_complaint([&] { ends.charlie->receive(four); }, "in time");
    EXPECT_GE(Clock::now() - start, 100ms);
    std::thread late([&] {
        std::this_thread::sleep_for(300ms);
        ends.david->send(Bytes(4));
    });
    ends.charlie->await_frame();  // longer than a frame may pause, and no error
    ends.charlie->receive(four);
    late.join();
    const Bytes bytes(2 * SharedRegion::ring_bytes);
    expect_complaint([&] { ends.charlie->send(bytes); }, "in time");

    Ends silent = connect(Medium::shared_memory, {120s, 100ms, 0us});
    expect_complaint([&] { silent.charlie->await_frame(); }, "in time");
}

/// A greeting with this memory beside it, as many times as `count`; what receive_region() says.
std::string offer(const OwnDescriptor& memory, const std::string& greeting, std::size_t count) {
    auto [one, other] = sockets();
    std::string bytes = greeting;
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> beside{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 0) {
        message.msg_control = beside.data();
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        for (std::size_t i = 0; i < count; ++i) {
            const int number = memory.number();
            std::memcpy(CMSG_DATA(header) + i * sizeof number, &number, sizeof number);
        }
    }
    EXPECT_GE(::sendmsg(one.number(), &message, 0), 0);
    return complaint([&] { net::receive_region(other, Clock::now() + 120s, -1); });
}

OwnDescriptor memory_of(std::size_t size, int seals) {
    OwnDescriptor memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(memory.number(), static_cast<off_t>(size)), 0);
    EXPECT_EQ(::fcntl(memory.number(), F_ADD_SEALS, seals), 0);
    return memory;
}

TEST(SharedMemory, SESS_11_memory_whose_size_could_change_is_refused) {
    constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    EXPECT_EQ(offer(memory_of(SharedRegion::bytes, all)), "nothing was thrown");
    for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL}) {
        EXPECT_NE(offer(memory_of(SharedRegion::bytes, all & ~missing)).find("sealed"),
                  std::string::npos);
    }
    EXPECT_NE(offer(memory_of(SharedRegion::bytes - 1, all)).find("expected"), std::string::npos);
    EXPECT_NE(offer(memory_of(SharedRegion::bytes, all | F_SEAL_WRITE)).find("shared memory"),
              std::string::npos);
    EXPECT_NE(offer(OwnDescriptor(::open("/dev/zero", O_RDWR))).find("sealed"), std::string::npos);
}

std::ptrdiff_t open_descriptors() {
    const std::filesystem::directory_iterator open("/proc/self/fd");
    return std::distance(begin(open), end(open));
}

TEST(SharedMemory, SESS_11_a_wrong_beginning_is_refused_and_nothing_stays_open) {
    const auto before = open_descriptors();
    const auto memory = memory_of(SharedRegion::bytes, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    for (const std::string greeting : {"SLIPSHM2", "SLIPSHM", "S"}) {
        EXPECT_EQ(offer(memory, greeting), "the peer offered no shared memory");
    }
    EXPECT_EQ(offer(memory, "SLIPSHM1", 0), "the peer offered no shared memory");
    EXPECT_EQ(offer(memory, "SLIPSHM1", 2), "the peer offered no shared memory");
    auto [one, other] = sockets();
    expect_complaint([&] { net::receive_region(other, Clock::now() + 50ms, -1); }, "was offered");
    one = OwnDescriptor();
    expect_complaint([&] { net::receive_region(other, Clock::now() + 120s, -1); },
                     "no shared memory");
    EXPECT_EQ(open_descriptors(), before + 2) << "but for `memory` and `other`";
}

/// A David who writes into the memory what he likes, while he answers: Charlie's products are
/// exact, or he ends the session. He never waits without end and never reads elsewhere.
TEST(SharedMemory, SESS_11_a_peer_who_writes_everywhere_changes_no_product) {
    const Model model(small_shapes, Fill::random, 1);
    // The two processes have a mapping each, and ThreadSanitizer sees no order between mappings:
    // more rounds would tell it nothing, and take minutes.
    const std::uint64_t rounds = under_thread_sanitizer() ? 1 : 6;
    std::uint64_t ended = 0, exact = 0;
    for (std::uint64_t seed = 0; seed < rounds; ++seed) {
        auto [one, other] = sockets();
        SharedRegion region;
        OwnDescriptor again(::dup(region.memory().number()));
        SharedRegion theirs{OwnDescriptor(::dup(again.number()))};
        const TimeLimits limits{200ms, 200ms, 100us};
        using Side = SharedMemoryConnection::Side;
        Ends ends{std::make_unique<SharedMemoryConnection>(Side::charlie, std::move(one),
                                                           std::move(region), limits),
                  std::make_unique<SharedMemoryConnection>(Side::david, std::move(other),
                                                           std::move(theirs), limits)};
        const auto hostile = [&](Transport& transport) {
            auto* const bytes = static_cast<volatile unsigned char*>(
                ::mmap(nullptr, SharedRegion::bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       again.number(), 0));
            std::thread writes([&] {
                Random random(seed);
                for (;;) {  // to the positions, and to the data of replies
                    const std::size_t at = random() % 8 == 0
                                               ? random() % 512
                                               : SharedRegion::head_bytes + random() % (2 << 20);
                    bytes[at] = static_cast<unsigned char>(random());
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
                }
            });
            writes.detach();
            try {
                DavidSession session(model.david);
                serve(session, transport);
            } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): he is hostile
            }
            return 0;
        };
        const auto charlie = [&](Transport& transport) {
            try {
                EXPECT_TRUE(works(transport, model));
                ++exact;
            } catch (const ProtocolError&) {
                ++ended;
            } catch (const IntegrityError&) {
                ++ended;
            }
        };
        in_another_process(std::move(ends), hostile, charlie);
    }
    EXPECT_EQ(ended + exact, rounds);
    EXPECT_TRUE(ended > 0 || rounds == 1) << "nothing that was written mattered";
}

}  // namespace
}  // namespace slip::testing
