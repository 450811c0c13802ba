#include "optimized/net/tls_connection.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/ssl/error.hpp>
#include <cerrno>
#include <system_error>
#include <thread>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/net/certificates.hpp"
#include "optimized/net/deadline.hpp"
#include "optimized/net/key_folders.hpp"

namespace slip::net {
namespace {

using base::require;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// The most that one system call sends, and receives. Every call that sends may wake the peer.
constexpr std::size_t sent_at_once = std::size_t{1} << 18;
constexpr std::size_t received_at_once = std::size_t{1} << 16;

/// What OpenSSL says of an error. Asio knows no text for an error of the system within OpenSSL.
std::string reason_of(const ErrorCode& error) {
    if (error.category() != asio::error::get_ssl_category()) return error.message();
    const auto code = static_cast<unsigned long>(static_cast<unsigned>(error.value()));
    if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "OpenSSL's error " + std::to_string(code);
}

[[noreturn]] void fail_because(const ErrorCode& error, const char* while_doing) {
    std::string reason = reason_of(error);
    if (error == asio::error::timed_out) reason = "the peer did not act in time";
    if (error == asio::error::eof) reason = "the peer ended the connection";
    if (error == asio::error::operation_aborted) reason = "the wait was called off";
    throw ProtocolError(std::string(while_doing) + ": " + reason);
}

void check_file(const ErrorCode& error, const std::filesystem::path& path, const char* expected) {
    if (error) throw BadInput(path.string() + ": is not " + expected + ": " + reason_of(error));
}

/// Names are checked by OpenSSL within the handshake, so that the peer gets an alert.
void require_peer_name(SSL_CTX* context, Role role) {
    X509_VERIFY_PARAM* parameters = SSL_CTX_get0_param(context);
    X509_VERIFY_PARAM_set_hostflags(
        parameters, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
    require(X509_VERIFY_PARAM_set1_host(parameters, name_of(role), 0) == 1,
            "OpenSSL refuses the peer's name");
}

void load_identity(asio::ssl::context& context, const std::filesystem::path& folder, Role ours) {
    ErrorCode error;
    context.load_verify_file((folder / "ca.pem").string(), error);
    check_file(error, folder / "ca.pem", "a certificate of an authority");
    context.use_certificate_file((folder / "cert.pem").string(), asio::ssl::context::pem, error);
    check_file(error, folder / "cert.pem", "a certificate");
    require_private(folder / "key.pem");
    context.use_private_key_file((folder / "key.pem").string(), asio::ssl::context::pem, error);
    check_file(error, folder / "key.pem", "the certificate's private key");
    if (!has_role(SSL_CTX_get0_certificate(context.native_handle()), ours)) {
        throw BadInput((folder / "cert.pem").string() + ": is not a certificate of role " +
                       name_of(ours));
    }
}

void set_option(int socket, int level, int name, int value) {
    if (::setsockopt(socket, level, name, &value, sizeof value) == 0) return;
    throw std::system_error(errno, std::generic_category(), "setsockopt");
}

/// A machine that is gone ends no connection: nobody would notice before the patience is over.
void expect_acknowledgements(int socket, std::chrono::milliseconds limit) {
    constexpr std::int64_t longest = 30000;  // seconds; Linux takes no more than 32767
    const std::int64_t within = std::clamp<std::int64_t>(limit.count(), 1, 1000 * longest);
    const int pause = static_cast<int>(std::max<std::int64_t>(within / 3000, 1));
    set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(within));
    set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, pause);
    set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, pause);
    set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

TimedSocket& socket_of(BIO* bio) { return *static_cast<TimedSocket*>(BIO_get_data(bio)); }

// What OpenSSL calls. They do not throw: what they call reserves no memory.

int read_from_socket(BIO* bio, char* bytes, int size) {
    const auto room = std::as_writable_bytes(std::span(bytes, static_cast<std::size_t>(size)));
    const std::size_t got = socket_of(bio).read(room);
    return got > 0 ? static_cast<int>(got) : -1;
}

int write_to_socket(BIO* bio, const char* bytes, int size) {
    const auto all = std::as_bytes(std::span(bytes, static_cast<std::size_t>(size)));
    return socket_of(bio).write(all) ? size : -1;
}

long control_socket(BIO* bio, int command, long /*argument*/, void* /*pointer*/) {
    if (command != BIO_CTRL_FLUSH) return 0;
    return socket_of(bio).flush() ? 1 : -1;
}

BIO_METHOD* socket_method() {
    static const BioMethod method = [] {
        BioMethod made(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "timed socket"));
        require(made && BIO_meth_set_read(made.get(), read_from_socket) == 1 &&
                    BIO_meth_set_write(made.get(), write_to_socket) == 1 &&
                    BIO_meth_set_ctrl(made.get(), control_socket) == 1,
                "OpenSSL has no memory for its objects");
        return made;
    }();
    return method.get();
}

/// Reads from and writes to `socket`, which outlives it.
Ssl make_ssl(SSL_CTX* context, TimedSocket& socket) {
    Ssl ssl(SSL_new(context));
    BIO* const bio = BIO_new(socket_method());
    if (bio != nullptr) {
        BIO_set_data(bio, &socket);
        BIO_set_init(bio, 1);
    }
    require(ssl && bio, "OpenSSL has no memory for its objects");
    SSL_set_bio(ssl.get(), bio, bio);
    // Several records come with one system call.
    SSL_set_read_ahead(ssl.get(), 1);
    SSL_set_default_read_buffer_len(ssl.get(), received_at_once);
    return ssl;
}

}  // namespace

const short TimedSocket::readable = POLLIN;
const short TimedSocket::writable = POLLOUT;

TimedSocket::TimedSocket(Tcp::socket socket, const TimeLimits& limits)
    : socket_(std::move(socket)), awake_(limits.awake), stop_(limits.stop), waiting_(sent_at_once) {
    socket_.set_option(Tcp::no_delay(true));
    socket_.non_blocking(true);
    expect_acknowledgements(socket_.native_handle(), limits.timeout);
}

std::size_t TimedSocket::read(std::span<std::byte> bytes) {
    while (!failure_) {
        ErrorCode error;
        const std::size_t size = socket_.read_some(asio::buffer(bytes.data(), bytes.size()), error);
        if (!error) return size;
        if (error == asio::error::would_block) {
            wait_for(readable);
        } else {
            failure_ = error;
        }
    }
    return 0;
}

bool TimedSocket::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t size = std::min(bytes.size(), waiting_.size() - waiting_size_);
        std::copy_n(bytes.begin(), size, waiting_.data() + waiting_size_);
        waiting_size_ += size;
        bytes = bytes.subspan(size);
        if (waiting_size_ == waiting_.size() && !flush()) return false;
    }
    return !failure_;
}

bool TimedSocket::flush() {
    std::size_t sent = 0;
    while (sent < waiting_size_ && !failure_) {
        ErrorCode error;
        sent +=
            socket_.write_some(asio::buffer(waiting_.data() + sent, waiting_size_ - sent), error);
        if (error == asio::error::would_block) {
            wait_for(writable);
        } else {
            failure_ = error;
        }
    }
    waiting_size_ = 0;
    return !failure_;
}

bool TimedSocket::wait_for(short event) {
    const auto ready = [&] {
        return wait_until_ready(socket_.native_handle(), event, Clock::time_point{}, stop_) == 0;
    };
    if (awake_.until(ready, deadline_)) return true;
    const int result = wait_until_ready(socket_.native_handle(), event, deadline_, stop_);
    if (result != 0) failure_ = ErrorCode(result, boost::system::system_category());
    return result == 0;
}

asio::ssl::context make_context(const std::filesystem::path& folder, Role ours, Role theirs) {
    asio::ssl::context context(asio::ssl::context::tls);
    SSL_CTX* native = context.native_handle();
    require(SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_max_proto_version(native, TLS1_3_VERSION) == 1,
            "this OpenSSL has no TLS 1.3");
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
    // SESS-6: a frame stays in the memory of David's OpenSSL no longer than in his own.
    if (ours == Role::david) SSL_CTX_set_options(native, SSL_OP_CLEANSE_PLAINTEXT);
    require(SSL_CTX_set_num_tickets(native, 0) == 1, "OpenSSL insists on session tickets");
    context.set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    SSL_CTX_set_verify_depth(native, 1);
    require_peer_name(native, theirs);
    load_identity(context, folder, ours);
    return context;
}

TlsConnection::TlsConnection(Tcp::socket socket, asio::ssl::context& context, Role theirs,
                             const TimeLimits& limits)
    : theirs_(theirs),
      limits_(limits),
      socket_(std::move(socket), limits),
      ssl_(make_ssl(context.native_handle(), socket_)) {}

TlsConnection::~TlsConnection() { base::wipe(buffer_.data(), buffer_.size()); }

/// Why a call of OpenSSL has failed: the socket, the peer, or TLS.
void TlsConnection::fail(int result, const char* while_doing) const {
    ErrorCode error = socket_.failure();
    if (!error && SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) {
        error = asio::error::eof;
    }
    if (!error) {
        error = ErrorCode(static_cast<int>(ERR_get_error()), asio::error::get_ssl_category());
    }
    fail_because(error, while_doing);
}

void TlsConnection::handshake(const std::function<void()>& heard) {
    constexpr const char* failed = "the TLS handshake failed";
    socket_.set_deadline(Clock::now() + limits_.timeout);
    if (heard) {
        if (!socket_.wait_for_bytes()) fail_because(socket_.failure(), failed);
        heard();
    }
    ERR_clear_error();
    SSL* const ssl = ssl_.get();
    const int result = theirs_ == Role::charlie ? SSL_accept(ssl) : SSL_connect(ssl);
    const long verdict = SSL_get_verify_result(ssl);
    if (result != 1 && verdict != X509_V_OK) {
        throw ProtocolError(std::string(failed) +
                            ": the peer's certificate: " + X509_verify_cert_error_string(verdict));
    }
    if (result != 1) fail(result, failed);
    X509* certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr || !has_role(certificate, theirs_)) {  // SESS-7
        throw ProtocolError(std::string(failed) + ": the peer is not of role " + name_of(theirs_));
    }
}

void TlsConnection::send(std::span<const std::byte> bytes) {
    socket_.set_deadline(Clock::now() + time_for(bytes.size(), limits_.timeout));
    if (bytes.empty()) return;
    constexpr const char* failed = "a frame could not be sent";
    ERR_clear_error();
    std::size_t sent = 0;  // all of it, because the socket waits
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent);
    if (result != 1) fail(result, failed);
    if (!socket_.flush()) fail_because(socket_.failure(), failed);
}

/// Waits until something has come; at most a record.
std::size_t TlsConnection::read_some(std::span<std::byte> bytes) {
    ERR_clear_error();
    std::size_t size = 0;
    const int result = SSL_read_ex(ssl_.get(), bytes.data(), bytes.size(), &size);
    if (result != 1) fail(result, "the peer's next frame did not come");
    return size;
}

void TlsConnection::receive(std::span<std::byte> bytes) {
    const std::size_t ready = std::min(bytes.size(), unread_.size());
    std::copy_n(unread_.begin(), ready, bytes.begin());
    base::wipe(unread_.data(), ready);
    unread_ = unread_.subspan(ready);
    bytes = bytes.subspan(ready);
    socket_.set_deadline(Clock::now() + time_for(bytes.size(), limits_.timeout));
    while (!bytes.empty()) bytes = bytes.subspan(read_some(bytes));
}

/// Reads the beginning of the frame, and all of a short one. The rest goes from OpenSSL's record to
/// where it is wanted.
void TlsConnection::await_frame() {
    if (!unread_.empty()) return;
    socket_.set_deadline(Clock::now() + limits_.patience);
    unread_ = std::span(buffer_).first(read_some(buffer_));
}

/// SESS-9: what was sent last arrives, because nothing that the peer sent stays unread.
void TlsConnection::finish() noexcept {
    const auto end = Clock::now() + std::chrono::seconds(1);
    socket_.set_deadline(end);
    ErrorCode error;
    socket_.socket().shutdown(Tcp::socket::shutdown_send, error);
    std::array<std::byte, 4096> ignored;
    // A peer who never stops sending lets no wait reach the deadline.
    while (!error && Clock::now() < end && socket_.read(ignored) > 0) {
    }
}

bool TlsConnection::has_unread_bytes() noexcept {
    int size = 0;
    return ::ioctl(socket_.socket().native_handle(), FIONREAD, &size) == 0 && size > 0;
}

void TlsConnection::interrupt() noexcept {
    ::shutdown(socket_.socket().native_handle(), SHUT_RDWR);
}

bool TlsConnection::ended() noexcept { return peer_ended(socket_.socket().native_handle()); }

}  // namespace slip::net
