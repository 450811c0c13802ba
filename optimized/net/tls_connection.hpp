// One TLS connection, either side. Private to this room, because it needs Asio's headers.
#pragma once

// One thread runs each io_context, so Asio's fences between handlers order nothing here, and
// ThreadSanitizer does not know them.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK

#include <utility>  // Asio of Boost 1.74 forgets it in C++20

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optimized/net/certificates.hpp"
#include "optimized/net/deadline.hpp"
#include "slip/tls.hpp"

namespace slip::net {

using Tcp = boost::asio::ip::tcp;

/// A socket on which every wait ends at a deadline: what TLS reads from and writes to.
class TimedSocket {
public:
    using lowest_layer_type = Tcp::socket::lowest_layer_type;
    using executor_type = Tcp::socket::executor_type;
    using ErrorCode = boost::system::error_code;

    /// `awake`: TimeLimits::awake.
    TimedSocket(Tcp::socket socket, std::chrono::microseconds awake);

    lowest_layer_type& lowest_layer() { return socket_.lowest_layer(); }
    executor_type get_executor() { return socket_.get_executor(); }

    void set_deadline(Clock::time_point deadline) { deadline_ = deadline; }

    /// Reads as much as has come, and gives it out piece by piece: TLS asks for a record at a time.
    template <class Buffers>
    std::size_t read_some(const Buffers& buffers, ErrorCode& error) {
        error = {};
        if (arrived_.empty()) receive_more(error);
        const std::size_t size = boost::asio::buffer_copy(
            buffers, boost::asio::const_buffer(arrived_.data(), arrived_.size()));
        arrived_ = arrived_.subspan(size);
        return size;
    }

    /// What TLS writes, a record at a time; kept until flush() or 64 KiB while gathering.
    template <class Buffers>
    std::size_t write_some(const Buffers& buffers, ErrorCode& error) {
        error = {};
        const std::size_t size =
            boost::asio::buffer_copy(boost::asio::buffer(waiting_) + waiting_size_, buffers);
        waiting_size_ += size;
        if (waiting_size_ == waiting_.size() || !gathering_) flush(error);
        return error ? 0 : size;
    }

    /// Records that are sent together cost one system call and wake the peer once.
    void gather(bool on) { gathering_ = on; }
    void flush(ErrorCode& error);

    /// Waits until something has come, or the peer has gone.
    void wait_for_bytes(ErrorCode& error) {
        error = {};
        wait_for(readable, error);
    }

private:
    static const short readable;
    static const short writable;
    /// Returns false, with `error` set, at the deadline.
    bool wait_for(short event, ErrorCode& error);
    void receive_more(ErrorCode& error);

    Tcp::socket socket_;
    std::chrono::microseconds awake_;
    Clock::time_point deadline_{};
    Clock::time_point wanted_by_others_until_{};  // the processor
    bool gathering_ = false;
    std::vector<std::byte> waiting_;  // encrypted, not yet sent
    std::size_t waiting_size_ = 0;
    std::vector<std::byte> received_;  // encrypted, as it came
    std::span<const std::byte> arrived_;
};

/// What both sides load from their folder: the deployment's authority and no other, TLS 1.3 and
/// nothing earlier, no resumption (SESS-7). Throws BadInput, naming the file.
/// `ours` is the role of the folder's owner; the peer must have the role `theirs`.
boost::asio::ssl::context make_context(const std::filesystem::path& folder, Role ours, Role theirs);

/// A blocking transport. One thread uses it; interrupt() may come from another.
class TlsConnection : public Transport {
public:
    /// `theirs` as in make_context(). Charlie is the client.
    TlsConnection(Tcp::socket socket, boost::asio::ssl::context& context, Role theirs,
                  const TimeLimits& limits);
    ~TlsConnection() override;

    /// Throws ProtocolError, saying why, unless the peer shows a certificate of his role. `heard`
    /// is called when the first bytes of a peer who speaks first have come.
    void handshake(const std::function<void()>& heard = {});

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override;

    /// Sends the end of the stream and reads what the peer still sends, for a second at most, so
    /// that the last frame reaches him: closing with unread data would destroy it on the way.
    void finish() noexcept;

    /// Whether something has come that nobody has read yet. From any thread.
    bool has_unread_bytes() noexcept;

    void interrupt() noexcept override;

private:
    const Role theirs_;
    const TimeLimits limits_;
    boost::asio::ssl::stream<TimedSocket> stream_;
    std::vector<std::byte> buffer_;  // as large as a TLS record; zero but for what is unread
    std::span<std::byte> unread_;    // the part of buffer_ that was not received yet
};

}  // namespace slip::net
