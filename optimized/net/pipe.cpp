// Frames over file descriptors: pipes, and sockets of whatever kind.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "optimized/base/error.hpp"
#include "optimized/net/deadline.hpp"
#include "slip/transport.hpp"

namespace slip {
namespace {

using net::Clock;
using net::wait_until_ready;

std::string reason_of(int error) {
    if (error == ETIMEDOUT) return "the peer did not act in time";
    if (error == ECANCELED) return "the wait was called off";
    if (error == EPIPE || error == ECONNRESET) return "the peer ended the connection";
    return std::generic_category().message(error);
}

[[noreturn]] void fail(int error, const char* while_doing) {
    throw ProtocolError(std::string(while_doing) + ": " + reason_of(error));
}

/// While it lives, writing to a pipe that nobody reads fails with EPIPE and nothing else: the
/// SIGPIPE that comes with it never reaches the program, whose handlers stay as they are.
class NoSigpipe {
public:
    NoSigpipe() {
        sigset_t pending;
        ::sigpending(&pending);
        was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
        ::pthread_sigmask(SIG_BLOCK, &only(), &before_);
    }
    NoSigpipe(const NoSigpipe&) = delete;
    NoSigpipe& operator=(const NoSigpipe&) = delete;
    ~NoSigpipe() {
        constexpr timespec at_once{0, 0};
        if (!was_pending_) {
            while (::sigtimedwait(&only(), nullptr, &at_once) < 0 && errno == EINTR) continue;
        }
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

private:
    static const sigset_t& only() {
        static const sigset_t set = [] {
            sigset_t sigpipe;
            ::sigemptyset(&sigpipe);
            ::sigaddset(&sigpipe, SIGPIPE);
            return sigpipe;
        }();
        return set;
    }
    sigset_t before_{};
    bool was_pending_ = false;
};

/// Owns a descriptor on which no call waits.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { ::close(number_); }

    void set_nonblocking() const {
        const int flags = ::fcntl(number_, F_GETFL);
        if (flags < 0 || ::fcntl(number_, F_SETFL, flags | O_NONBLOCK) < 0) {
            throw BadInput("descriptor " + std::to_string(number_) + ": " +
                           std::generic_category().message(errno));
        }
    }
    int number() const { return number_; }

private:
    int number_;
};

class Pipe : public Transport {
public:
    Pipe(int input, int output, const TimeLimits& limits) : input_(input), limits_(limits) {
        if (output != input) own_output_ = std::make_unique<Descriptor>(output);
        input_.set_nonblocking();
        if (own_output_) own_output_->set_nonblocking();
    }

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override;
    void interrupt() noexcept override {  // of no effect on pipes, which are no sockets
        ::shutdown(input_.number(), SHUT_RDWR);
        if (own_output_) ::shutdown(own_output_->number(), SHUT_RDWR);
    }
    bool ended() noexcept override { return net::peer_ended(input_.number()); }

private:
    Descriptor input_;
    std::unique_ptr<Descriptor> own_output_;  // null if `input_` is written to as well
    TimeLimits limits_;
};

/// Whether a call would have had to wait, or was interrupted.
bool must_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void Pipe::send(std::span<const std::byte> bytes) {
    const NoSigpipe no_sigpipe;
    const int output = own_output_ ? own_output_->number() : input_.number();
    const auto deadline = Clock::now() + net::time_for(bytes.size(), limits_.timeout);
    while (!bytes.empty()) {
        const ssize_t size = ::write(output, bytes.data(), bytes.size());
        if (size >= 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(size));
            continue;
        }
        int error = must_wait(errno) ? 0 : errno;
        if (error == 0) error = wait_until_ready(output, POLLOUT, deadline, limits_.stop);
        if (error != 0) fail(error, "a frame could not be sent");
    }
}

void Pipe::receive(std::span<std::byte> bytes) {
    const auto deadline = Clock::now() + net::time_for(bytes.size(), limits_.timeout);
    while (!bytes.empty()) {
        const ssize_t size = ::read(input_.number(), bytes.data(), bytes.size());
        if (size > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(size));
            continue;
        }
        int error = size == 0 ? EPIPE : must_wait(errno) ? 0 : errno;
        if (error == 0) error = wait_until_ready(input_.number(), POLLIN, deadline, limits_.stop);
        if (error != 0) fail(error, "the peer's next frame did not come");
    }
}

void Pipe::await_frame() {
    const auto deadline = Clock::now() + limits_.patience;
    const int error = wait_until_ready(input_.number(), POLLIN, deadline, limits_.stop);
    if (error != 0) fail(error, "the peer's next frame did not come");
}

}  // namespace

std::unique_ptr<Transport> open_pipe(int input, int output, const TimeLimits& limits) {
    return std::make_unique<Pipe>(input, output, limits);
}

std::pair<std::unique_ptr<Transport>, std::unique_ptr<Transport>> make_transport_pair(
    const TimeLimits& limits) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        fail(errno, "a pair of sockets could not be made");
    }
    auto one = open_pipe(ends[0], ends[0], limits);
    return {std::move(one), open_pipe(ends[1], ends[1], limits)};
}

}  // namespace slip
