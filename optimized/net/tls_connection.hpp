// One TLS connection, either side. Private to this room, because it needs Asio's headers.
#pragma once

// One thread runs each io_context, so Asio's fences between handlers order nothing here, and
// ThreadSanitizer does not know them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <utility>  // Asio of Boost 1.74 forgets it in C++20

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optimized/net/awake.hpp"
#include "optimized/net/certificates.hpp"
#include "optimized/net/deadline.hpp"
#include "optimized/net/openssl.hpp"
#include "optimized/net/session_threads.hpp"
#include "slip/tls.hpp"

namespace slip::net {

using Tcp = boost::asio::ip::tcp;

/// A socket on which every wait ends at a deadline: what TLS reads from and writes to.
class TimedSocket {
public:
    using ErrorCode = boost::system::error_code;

    /// From now on the peer's machine has `limits.timeout` to acknowledge what it gets, and a probe
    /// where it gets nothing; then every call fails, whatever the deadline is (SESS-8).
    TimedSocket(Tcp::socket socket, const TimeLimits& limits);

    Tcp::socket& socket() { return socket_; }
    /// The deadline of the calls that follow, which also end once `limits.stop` is readable;
    /// forgets a failure.
    void set_deadline(Clock::time_point deadline) {
        deadline_ = deadline;
        failure_ = {};
    }

    /// Waits until something has come, or the peer has gone, and reads what has come. Returns its
    /// size; 0 with failure() set at the end of the stream, at the deadline, or if the system
    /// fails.
    std::size_t read(std::span<std::byte> bytes);
    /// Keeps what TLS writes, a record at a time, until flush(), or until there are 256 KiB:
    /// records that are sent together cost one system call and wake the peer once. Returns false,
    /// with failure() set, if they cannot be sent.
    bool write(std::span<const std::byte> bytes);
    bool flush();
    /// Waits until something has come, or the peer has gone. Returns false, with failure() set, at
    /// the deadline.
    bool wait_for_bytes() { return wait_for(readable); }

    /// Why a call has failed; those after it do nothing.
    const ErrorCode& failure() const { return failure_; }

private:
    static const short readable;
    static const short writable;
    bool wait_for(short event);

    Tcp::socket socket_;
    Awake awake_;
    const int stop_;
    Clock::time_point deadline_{};
    ErrorCode failure_;
    std::vector<std::byte> waiting_;  // encrypted, not yet sent
    std::size_t waiting_size_ = 0;
};

/// What both sides load from their folder: the deployment's authority and no other, TLS 1.3 and
/// nothing earlier, no resumption (SESS-7). Throws BadInput, naming the file.
/// `ours` is the role of the folder's owner; the peer must have the role `theirs`.
boost::asio::ssl::context make_context(const std::filesystem::path& folder, Role ours, Role theirs);

/// A blocking transport. One thread uses it; interrupt() may come from another.
class TlsConnection : public ServedConnection {
public:
    /// `theirs` as in make_context(). Charlie is the client.
    TlsConnection(Tcp::socket socket, boost::asio::ssl::context& context, Role theirs,
                  const TimeLimits& limits);
    ~TlsConnection() override;

    /// Throws ProtocolError, saying why, unless the peer shows a certificate of his role. The
    /// client speaks first and gives no `heard`.
    void handshake(const std::function<void()>& heard) override;

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override;

    /// Sends the end of the stream and reads what the peer still sends, for a second at most, so
    /// that the last frame reaches him: closing with unread data would destroy it on the way.
    void finish() noexcept override;

    bool has_unread_bytes() noexcept override;

    void interrupt() noexcept override;
    bool ended() noexcept override;

private:
    std::size_t read_some(std::span<std::byte> bytes);
    [[noreturn]] void fail(int result, const char* while_doing) const;

    const Role theirs_;
    const TimeLimits limits_;
    TimedSocket socket_;
    Ssl ssl_;                             // reads from and writes to socket_
    std::array<std::byte, 64> buffer_{};  // the beginning of a frame; zero but for what is unread
    std::span<std::byte> unread_;         // the part of buffer_ that was not received yet
};

}  // namespace slip::net
