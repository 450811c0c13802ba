#include "optimized/net/tls_connection.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <system_error>
#include <thread>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/net/certificates.hpp"
#include "optimized/net/deadline.hpp"
#include "optimized/net/key_folders.hpp"

namespace slip::net {
namespace {

using base::require;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// What is sent or received with one system call: three records.
constexpr std::size_t gathered_bytes = std::size_t{1} << 16;
/// Who gives the processor away for longer than this has met another thread that wants it. He gets
/// it back later than a thread that sleeps and is woken, so for a while every wait sleeps at once.
constexpr std::chrono::microseconds given_away{2000};
constexpr std::chrono::milliseconds considerate{20};

constexpr std::size_t record_bytes = std::size_t{1} << 14;  // the largest TLS record

/// What OpenSSL says of an error. Asio knows no text for an error of the system within OpenSSL.
std::string reason_of(const ErrorCode& error) {
    if (error.category() != asio::error::get_ssl_category()) return error.message();
    const auto code = static_cast<unsigned long>(static_cast<unsigned>(error.value()));
    if (ERR_SYSTEM_ERROR(code)) return std::generic_category().message(ERR_GET_REASON(code));
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "OpenSSL's error " + std::to_string(code);
}

[[noreturn]] void fail(const ErrorCode& error, const char* while_doing) {
    std::string reason = reason_of(error);
    if (error == asio::error::timed_out) reason = "the peer did not act in time";
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
        reason = "the peer ended the connection";
    }
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

}  // namespace

const short TimedSocket::readable = POLLIN;
const short TimedSocket::writable = POLLOUT;

TimedSocket::TimedSocket(Tcp::socket socket, std::chrono::microseconds awake)
    : socket_(std::move(socket)),
      awake_(awake),
      waiting_(gathered_bytes),
      received_(gathered_bytes) {
    socket_.set_option(Tcp::no_delay(true));
    socket_.non_blocking(true);
}

void TimedSocket::receive_more(ErrorCode& error) {
    do {
        const std::size_t size = socket_.read_some(asio::buffer(received_), error);
        if (error != asio::error::would_block) arrived_ = std::span(received_).first(size);
    } while (error == asio::error::would_block && wait_for(readable, error));
}

void TimedSocket::flush(ErrorCode& error) {
    std::size_t sent = 0;
    error = {};
    while (sent < waiting_size_ && !error) {
        sent +=
            socket_.write_some(asio::buffer(waiting_.data() + sent, waiting_size_ - sent), error);
        if (error == asio::error::would_block && wait_for(writable, error)) error = {};
    }
    waiting_size_ = 0;
}

bool TimedSocket::wait_for(short event, ErrorCode& error) {
    static const bool several_processors = base::available_threads() > 1;
    auto now = Clock::now();
    const auto awake_until = std::min(now + awake_, deadline_);
    while (several_processors && now < awake_until && now >= wanted_by_others_until_) {
        if (wait_until_ready(socket_.native_handle(), event, Clock::time_point{}) == 0) return true;
        std::this_thread::yield();
        const auto before = std::exchange(now, Clock::now());
        if (now - before > given_away) wanted_by_others_until_ = now + considerate;
    }
    const int result = wait_until_ready(socket_.native_handle(), event, deadline_);
    if (result != 0) error = ErrorCode(result, boost::system::system_category());
    return result == 0;
}

asio::ssl::context make_context(const std::filesystem::path& folder, Role ours, Role theirs) {
    asio::ssl::context context(asio::ssl::context::tls);
    SSL_CTX* native = context.native_handle();
    require(SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION) == 1 &&
                SSL_CTX_set_max_proto_version(native, TLS1_3_VERSION) == 1,
            "this OpenSSL has no TLS 1.3");
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    // OFF-8, SESS-6: a frame may hold a key, and stays in OpenSSL's memory no longer than in ours.
    SSL_CTX_set_options(native, SSL_OP_NO_TICKET | SSL_OP_CLEANSE_PLAINTEXT);
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
      stream_(TimedSocket(std::move(socket), limits.awake), context),
      buffer_(record_bytes) {}

TlsConnection::~TlsConnection() { base::wipe(buffer_.data(), buffer_.size()); }

void TlsConnection::handshake(const std::function<void()>& heard) {
    stream_.next_layer().set_deadline(Clock::now() + limits_.timeout);
    ErrorCode error;
    if (heard) {
        stream_.next_layer().wait_for_bytes(error);
        if (error) fail(error, "the TLS handshake failed");
        heard();
    }
    stream_.handshake(
        theirs_ == Role::charlie ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
        error);
    SSL* ssl = stream_.native_handle();
    const long verdict = SSL_get_verify_result(ssl);
    if (error && verdict != X509_V_OK) {
        throw ProtocolError(std::string("the TLS handshake failed: the peer's certificate: ") +
                            X509_verify_cert_error_string(verdict));
    }
    if (error) fail(error, "the TLS handshake failed");
    X509* certificate = SSL_get0_peer_certificate(ssl);
    if (certificate == nullptr || !has_role(certificate, theirs_)) {  // SESS-7
        throw ProtocolError(std::string("the TLS handshake failed: the peer is not of role ") +
                            name_of(theirs_));
    }
}

void TlsConnection::send(std::span<const std::byte> bytes) {
    stream_.next_layer().set_deadline(Clock::now() + time_for(bytes.size(), limits_.timeout));
    ErrorCode error;
    stream_.next_layer().gather(true);
    asio::write(stream_, asio::buffer(bytes.data(), bytes.size()), error);
    stream_.next_layer().gather(false);
    if (!error) stream_.next_layer().flush(error);
    if (error) fail(error, "a frame could not be sent");
}

void TlsConnection::receive(std::span<std::byte> bytes) {
    const std::size_t ready = std::min(bytes.size(), unread_.size());
    std::copy_n(unread_.begin(), ready, bytes.begin());
    base::wipe(unread_.data(), ready);
    unread_ = unread_.subspan(ready);
    bytes = bytes.subspan(ready);
    if (bytes.empty()) return;
    stream_.next_layer().set_deadline(Clock::now() + time_for(bytes.size(), limits_.timeout));
    ErrorCode error;
    asio::read(stream_, asio::buffer(bytes.data(), bytes.size()), error);
    if (error) fail(error, "the peer's next frame did not come");
}

/// Reads the beginning of the frame, and all of a short one, so that its length and its payload
/// cost one read together.
void TlsConnection::await_frame() {
    if (!unread_.empty()) return;
    stream_.next_layer().set_deadline(Clock::now() + limits_.patience);
    ErrorCode error;
    const std::size_t size = stream_.read_some(asio::buffer(buffer_), error);
    if (error) fail(error, "the peer's next frame did not come");
    unread_ = std::span(buffer_).first(size);
}

/// SESS-9: what was sent last arrives, because nothing that the peer sent stays unread.
void TlsConnection::finish() noexcept {
    TimedSocket& socket = stream_.next_layer();
    const auto end = Clock::now() + std::chrono::seconds(1);
    socket.set_deadline(end);
    ErrorCode error;
    socket.lowest_layer().shutdown(Tcp::socket::shutdown_send, error);
    // A peer who never stops sending lets no wait reach the deadline.
    while (!error && Clock::now() < end) socket.read_some(asio::buffer(buffer_), error);
}

bool TlsConnection::has_unread_bytes() noexcept {
    int size = 0;
    return ::ioctl(stream_.next_layer().lowest_layer().native_handle(), FIONREAD, &size) == 0 &&
           size > 0;
}

void TlsConnection::interrupt() noexcept {
    ::shutdown(stream_.next_layer().lowest_layer().native_handle(), SHUT_RDWR);
}

}  // namespace slip::net
