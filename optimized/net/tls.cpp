#include "slip/tls.hpp"

#include "optimized/net/tls_connection.hpp"
//
#include <boost/asio/connect.hpp>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip {
namespace {

using net::Tcp;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// Charlie's end of a connection, with what it needs to live. interrupt() ends every wait: for the
/// look-up of the name, for the connection, for the handshake, and for the peer.
class TlsClient : public Transport {
public:
    TlsClient(const Endpoint& endpoint, const std::filesystem::path& certificates,
              const TimeLimits& limits, net::Role peer)
        : endpoint_(endpoint),
          limits_(limits),
          peer_(peer),
          context_(net::make_context(certificates, net::Role::charlie, peer)) {}

    /// Connects; once. The first use does it otherwise.
    void open();

    void send(std::span<const std::byte> bytes) override { opened().send(bytes); }
    void receive(std::span<std::byte> bytes) override { opened().receive(bytes); }
    void await_frame() override { opened().await_frame(); }
    std::string peer_name() const override { return describe(endpoint_); }
    void interrupt() noexcept override { interrupted_.request_stop(); }

private:
    net::TlsConnection& opened() {
        if (!ready_) open();
        return *connection_;
    }
    Tcp::resolver::results_type look_up() const;
    Tcp::socket connect();

    const Endpoint endpoint_;
    const TimeLimits limits_;
    const net::Role peer_;
    asio::io_context io_;
    asio::ssl::context context_;
    bool tried_ = false;
    bool ready_ = false;  // the peer has shown who he is
    std::stop_source interrupted_;
    std::optional<net::TlsConnection> connection_;
    std::optional<std::stop_callback<std::function<void()>>> when_interrupted_;
};

void TlsClient::open() try {
    if (std::exchange(tried_, true)) throw ProtocolError("there is no connection");
    connection_.emplace(connect(), context_, peer_, limits_);
    when_interrupted_.emplace(interrupted_.get_token(), [this] { connection_->interrupt(); });
    connection_->handshake();
    ready_ = true;
} catch (const ProtocolError& error) {
    throw ProtocolError(describe(endpoint_) + ": " + error.what());
}

/// The addresses of the endpoint, or ProtocolError.
Tcp::resolver::results_type TlsClient::look_up() const {
    using Addresses = Tcp::resolver::results_type;
    const auto work = [endpoint = endpoint_] {
        asio::io_context io;
        ErrorCode error;
        Addresses addresses = Tcp::resolver(io).resolve(endpoint.host, endpoint.port, error);
        if (error) throw ProtocolError(error.message());
        return addresses;
    };
    const auto found = net::within<Addresses>(limits_.timeout, interrupted_.get_token(), work);
    if (!found) throw ProtocolError("the name was not resolved in time");
    return *found;
}

Tcp::socket TlsClient::connect() {
    const auto deadline = net::Clock::now() + limits_.timeout;
    const auto addresses = look_up();
    Tcp::socket socket(io_);
    ErrorCode error = asio::error::timed_out;
    asio::async_connect(socket, addresses,
                        [&](const ErrorCode& result, const auto&) { error = result; });
    const std::stop_callback stop(interrupted_.get_token(), [this] { io_.stop(); });
    io_.run_until(deadline);
    if (error) throw ProtocolError(error.message());
    return socket;
}

}  // namespace

Endpoint parse_endpoint(const std::string& text, const std::string& flag) {
    const auto fail = [&] {
        throw BadInput(flag + ": \"" + text + "\" is not HOST:PORT, with a port from 0 to 65535");
    };
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos) fail();
    Endpoint endpoint{text.substr(0, colon), text.substr(colon + 1)};
    const bool bracketed = !endpoint.host.empty() && endpoint.host.front() == '[';
    if (bracketed) {
        if (endpoint.host.size() < 2 || endpoint.host.back() != ']') fail();
        endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
    }
    if (endpoint.host.empty() || (!bracketed && endpoint.host.find(':') != std::string::npos)) {
        fail();
    }
    const bool digits = endpoint.port.find_first_not_of("0123456789") == std::string::npos;
    if (endpoint.port.empty() || endpoint.port.size() > 5 || !digits ||
        std::stoul(endpoint.port) > 65535) {
        fail();
    }
    return endpoint;
}

std::string describe(const Endpoint& endpoint) {
    const bool ipv6 = endpoint.host.find(':') != std::string::npos;
    return (ipv6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + endpoint.port;
}

std::unique_ptr<Transport> connect_tls(const Endpoint& endpoint,
                                       const std::filesystem::path& certificates,
                                       const TimeLimits& limits, ServerRole peer) {
    auto client = std::make_unique<TlsClient>(endpoint, certificates, limits, net::role_of(peer));
    client->open();
    return client;
}

std::unique_ptr<Transport> connect_tls_at_first_use(const Endpoint& endpoint,
                                                    const std::filesystem::path& certificates,
                                                    const TimeLimits& limits, ServerRole peer) {
    return std::make_unique<TlsClient>(endpoint, certificates, limits, net::role_of(peer));
}

}  // namespace slip
