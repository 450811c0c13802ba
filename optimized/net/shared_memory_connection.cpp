#include "optimized/net/shared_memory_connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "slip/error.hpp"

namespace slip::net {
namespace {

constexpr std::array<char, 8> greeting{'S', 'L', 'I', 'P', 'S', 'H', 'M', '1'};
/// Nobody changes the size, nor these.
constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// A message with the greeting, and room for one descriptor beside it.
struct Beginning {
    Beginning() {
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = beside.data();
        message.msg_controllen = CMSG_LEN(sizeof(int));
    }
    Beginning(const Beginning&) = delete;
    Beginning& operator=(const Beginning&) = delete;

    std::array<char, greeting.size()> bytes{};
    iovec part{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
    msghdr message{};
};

[[noreturn]] void fail(int error, const std::string& while_doing) {
    std::string reason = std::generic_category().message(error);
    if (error == ETIMEDOUT) reason = "the peer did not act in time";
    if (error == EPIPE || error == ECONNRESET) reason = "the peer ended the connection";
    if (error == ECANCELED) reason = "the wait was called off";
    throw ProtocolError(while_doing + ": " + reason);
}

void wait_for_bytes(const OwnDescriptor& socket, Clock::time_point deadline, int stop,
                    const char* while_doing) {
    const int waited = wait_until_ready(socket.number(), POLLIN, deadline, stop);
    if (waited != 0) fail(waited, while_doing);
}

}  // namespace

SharedRegion::SharedRegion() : memory_(::memfd_create("slip", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    const char* const what = "shared memory";
    if (memory_.number() < 0) fail(errno, what);
    if (::ftruncate(memory_.number(), static_cast<off_t>(bytes)) != 0) fail(errno, what);
    if (::fcntl(memory_.number(), F_ADD_SEALS, seals) != 0) fail(errno, what);
    map();
}

SharedRegion::SharedRegion(OwnDescriptor memory) : memory_(std::move(memory)) {
    struct stat found {};
    const int sealed = ::fcntl(memory_.number(), F_GET_SEALS);
    if (::fstat(memory_.number(), &found) != 0 || found.st_size != static_cast<off_t>(bytes) ||
        sealed < 0 || (sealed & seals) != seals) {
        throw ProtocolError("the peer's shared memory: expected " + std::to_string(bytes) +
                            " bytes whose size is sealed");
    }
    map();
}

void SharedRegion::map() {
    void* const start =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.number(), 0);
    if (start == MAP_FAILED) fail(errno, "shared memory");
    start_ = static_cast<std::byte*>(start);
}

SharedRegion::SharedRegion(SharedRegion&& other) noexcept
    : memory_(std::move(other.memory_)), start_(std::exchange(other.start_, nullptr)) {}

SharedRegion::~SharedRegion() {
    if (start_ != nullptr) ::munmap(start_, bytes);
}

Ring SharedRegion::ring(Ring::End end, std::size_t direction) const {
    // A new memfd is zero, which is what atomics begin with; memory is made of objects by its use.
    auto* const positions = std::launder(reinterpret_cast<RingPositions*>(start_)) + direction;
    return {end, *positions, {start_ + head_bytes + direction * ring_bytes, ring_bytes}};
}

SharedMemoryConnection::SharedMemoryConnection(Side side, OwnDescriptor socket, SharedRegion region,
                                               const TimeLimits& limits, std::string name)
    : socket_(std::move(socket)),
      region_(std::move(region)),
      limits_(limits),
      awake_(limits.awake),
      name_(std::move(name)),
      out_(region_.ring(Ring::End::writer, side == Side::charlie ? 0 : 1)),
      in_(region_.ring(Ring::End::reader, side == Side::charlie ? 1 : 0)) {}

void SharedMemoryConnection::send(std::span<const std::byte> bytes) {
    const auto deadline = Clock::now() + time_for(bytes.size(), limits_.timeout);
    if (ended()) throw ProtocolError("a frame could not be sent: the peer ended the connection");
    while (!bytes.empty()) {
        const std::size_t size = out_.write(bytes);
        bytes = bytes.subspan(size);
        if (size == 0) wait(out_, deadline, "a frame could not be sent");
    }
}

void SharedMemoryConnection::receive(std::span<std::byte> bytes) {
    const auto deadline = Clock::now() + time_for(bytes.size(), limits_.timeout);
    while (!bytes.empty()) {
        const std::size_t size = in_.read(bytes);
        bytes = bytes.subspan(size);
        if (size == 0) wait(in_, deadline, "the peer's next frame did not come");
    }
}

void SharedMemoryConnection::await_frame() {
    wait(in_, Clock::now() + limits_.patience, "the peer's next frame did not come");
}

/// Until something can be written, or read. Only a wait that has slept looks at the socket: a look
/// costs as much as a sleep. A peer who is gone may have left bytes behind.
void SharedMemoryConnection::wait(Ring& ring, Clock::time_point deadline, const char* while_doing) {
    const auto refuse = [&](const char* why) {
        throw ProtocolError(std::string(while_doing) + ": " + why);
    };
    if (awake_.until([&] { return ring.available() > 0 || interrupted_; }, deadline)) {
        if (interrupted_) refuse("the wait was called off");
        return;
    }
    bool slept = false;
    while (ring.available() == 0) {
        if (interrupted_ || (slept && stop_asked(limits_.stop))) refuse("the wait was called off");
        if (slept && ended()) {
            if (&ring == &in_ && ring.available() > 0) return;
            refuse("the peer ended the connection");
        }
        const auto now = Clock::now();
        if (now >= deadline) refuse("the peer did not act in time");
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
        ring.sleep(std::min(left, stop_interval));
        slept = true;
    }
}

void SharedMemoryConnection::interrupt() noexcept {
    interrupted_ = true;
    ::shutdown(socket_.number(), SHUT_RDWR);
    in_.wake();
    out_.wake();
}

void SharedMemoryConnection::finish() noexcept {
    const auto end = Clock::now() + std::chrono::seconds(1);
    std::array<std::byte, 4096> ignored;
    try {
        while (Clock::now() < end && !interrupted_ && !ended()) {
            if (in_.read(ignored) == 0) in_.sleep(stop_interval);
        }
    } catch (const ProtocolError&) {  // NOLINT(bugprone-empty-catch): his positions are impossible
    }
}

void send_region(const OwnDescriptor& socket, const SharedRegion& region) {
    Beginning beginning;
    beginning.bytes = greeting;
    cmsghdr* const header = CMSG_FIRSTHDR(&beginning.message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = region.memory().number();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
    if (::sendmsg(socket.number(), &beginning.message, MSG_NOSIGNAL) !=
        static_cast<ssize_t>(greeting.size())) {
        fail(errno, "shared memory could not be offered");
    }
}

SharedRegion receive_region(const OwnDescriptor& socket, Clock::time_point deadline, int stop,
                            const std::function<void()>& heard) {
    wait_for_bytes(socket, deadline, stop, "no shared memory was offered");
    if (heard) heard();
    Beginning beginning;
    const ssize_t size =
        ::recvmsg(socket.number(), &beginning.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    OwnDescriptor memory;
    const cmsghdr* const header = CMSG_FIRSTHDR(&beginning.message);
    if (size >= 0 && header != nullptr && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header), sizeof number);
        memory = OwnDescriptor(number);
    }
    // Of more descriptors the system installs the first, and says that there were others.
    const bool cut = (beginning.message.msg_flags & MSG_CTRUNC) != 0;
    if (size != static_cast<ssize_t>(greeting.size()) || beginning.bytes != greeting || cut ||
        memory.number() < 0) {
        throw ProtocolError("the peer offered no shared memory");
    }
    return SharedRegion(std::move(memory));
}

void confirm_region(const OwnDescriptor& socket) {
    if (::send(socket.number(), greeting.data(), greeting.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(greeting.size())) {
        fail(errno, "shared memory could not be confirmed");
    }
}

void await_confirmation(const OwnDescriptor& socket, Clock::time_point deadline, int stop) {
    constexpr const char* missing = "the shared memory was not taken";
    wait_for_bytes(socket, deadline, stop, missing);
    std::array<char, greeting.size()> bytes{};
    const ssize_t size = ::recv(socket.number(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0) fail(errno, missing);
    if (size == 0) fail(ECONNRESET, missing);
    if (size != static_cast<ssize_t>(bytes.size()) || bytes != greeting) {
        throw ProtocolError(std::string(missing) + ": the peer answered something else");
    }
}

}  // namespace slip::net
