#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/net/named_socket.hpp"
#include "optimized/net/session_threads.hpp"
#include "optimized/net/shared_memory_connection.hpp"
#include "slip/shared_memory.hpp"

namespace slip {
namespace {

using net::OwnDescriptor;
using net::SharedMemoryConnection;

/// A connection whose memory comes with its handshake.
class ServedSharedMemory : public net::ServedConnection {
public:
    ServedSharedMemory(OwnDescriptor socket, const TimeLimits& limits)
        : socket_(std::move(socket)), limits_(limits) {}

    void handshake(const std::function<void()>& heard) override {
        const auto deadline = net::Clock::now() + limits_.timeout;
        auto region = net::receive_region(socket_, deadline, limits_.stop, heard);
        OwnDescriptor again(::fcntl(socket_.number(), F_DUPFD_CLOEXEC, 0));
        if (again.number() < 0) throw ProtocolError(std::generic_category().message(errno));
        connection_.emplace(SharedMemoryConnection::Side::david, std::move(again),
                            std::move(region), limits_);
        net::confirm_region(socket_);
    }
    void send(std::span<const std::byte> bytes) override { connection_->send(bytes); }
    void receive(std::span<std::byte> bytes) override { connection_->receive(bytes); }
    void await_frame() override { connection_->await_frame(); }
    void finish() noexcept override {
        if (connection_) connection_->finish();
    }
    /// The end of the socket ends every wait.
    void interrupt() noexcept override { ::shutdown(socket_.number(), SHUT_RDWR); }
    bool ended() noexcept override { return net::peer_ended(socket_.number()); }
    bool has_unread_bytes() noexcept override {
        int size = 0;
        return ::ioctl(socket_.number(), FIONREAD, &size) == 0 && size > 0;
    }

private:
    const OwnDescriptor socket_;
    const TimeLimits limits_;
    std::optional<SharedMemoryConnection> connection_;  // of the session's thread
};

}  // namespace

struct SharedMemoryServer::State {
    State(const std::filesystem::path& socket, std::optional<std::uint32_t> user,
          const DavidOptions& options, Serve serve, Report report)
        : peer_user(user),
          limits(options.limits),
          stopping(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          listener(std::in_place, socket, user.has_value()),
          sessions(options.max_sessions, std::move(serve), std::move(report)) {
        base::require(stopping.number() >= 0, "the system has no more descriptors");
    }

    bool may_connect(const net::PeerProcess& peer) const {
        return peer.user == ::geteuid() || peer.user == 0 || peer.user == peer_user;
    }
    void accept();
    void begin(OwnDescriptor socket);

    const std::optional<std::uint32_t> peer_user;
    const TimeLimits limits;
    const OwnDescriptor stopping;  // an eventfd
    std::optional<net::NamedListener> listener;
    net::SessionThreads sessions;
};

/// What has come to the listener.
void SharedMemoryServer::State::accept() {
    OwnDescriptor socket(
        ::accept4(listener->socket().number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    const int error = errno;
    sessions.collect();
    if (socket.number() >= 0) return begin(std::move(socket));
    if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return;
    // Too many open files, most likely: give the sessions time to end.
    sessions.report("unknown",
                    "the connection was not accepted: " + std::generic_category().message(error));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void SharedMemoryServer::State::begin(OwnDescriptor socket) {
    const net::PeerProcess peer = net::peer_process(socket);
    const std::string process = "process " + std::to_string(peer.process);
    sessions.begin(process + " of user " + std::to_string(peer.user), process, [&] {
        if (!may_connect(peer)) throw ProtocolError("this user may not connect");
        return std::make_unique<ServedSharedMemory>(std::move(socket), limits);
    });
}

SharedMemoryServer::SharedMemoryServer(const std::filesystem::path& socket,
                                       std::optional<std::uint32_t> peer_user,
                                       const DavidOptions& options, Serve serve, Report report)
    : state_(std::make_unique<State>(socket, peer_user, options, std::move(serve),
                                     std::move(report))) {}

SharedMemoryServer::~SharedMemoryServer() {
    stop();
    state_->sessions.stop();
}

void SharedMemoryServer::run() {
    const int stopping = state_->stopping.number();
    const auto comes = [&] {
        return net::wait_until_ready(state_->listener->socket().number(), POLLIN,
                                     net::Clock::time_point::max(), stopping);
    };
    while (comes() == 0) state_->accept();
    state_->listener.reset();
    state_->sessions.stop();
}

void SharedMemoryServer::stop() {
    constexpr std::uint64_t one = 1;
    // It can fail only where it has been written already.
    [[maybe_unused]] const auto size = ::write(state_->stopping.number(), &one, sizeof one);
    state_->sessions.interrupt();
}

}  // namespace slip
