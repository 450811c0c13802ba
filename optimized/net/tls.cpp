#include "slip/tls.hpp"

#include "optimized/net/tls_connection.hpp"
//
#include <algorithm>
#include <boost/asio/connect.hpp>

#include "optimized/base/error.hpp"

namespace slip {
namespace {

using net::Tcp;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

/// Charlie's end of a connection, with what it needs to live.
class TlsClient : public Transport {
public:
    TlsClient(const Endpoint& endpoint, const std::filesystem::path& certificates,
              const TimeLimits& limits)
        : name_(describe(endpoint)),
          context_(net::make_context(certificates, net::Role::charlie, net::Role::david)),
          connection_(connect(endpoint, limits), context_, net::Role::david, limits) {
        connection_.handshake({});
    }

    void send(std::span<const std::byte> bytes) override { connection_.send(bytes); }
    void receive(std::span<std::byte> bytes) override { connection_.receive(bytes); }
    void await_frame() override { connection_.await_frame(); }
    std::string peer_name() const override { return name_; }
    void interrupt() noexcept override { connection_.interrupt(); }
    bool ended() noexcept override { return connection_.ended(); }

private:
    Tcp::socket connect(const Endpoint& endpoint, const TimeLimits& limits);

    const std::string name_;
    asio::io_context io_;
    asio::ssl::context context_;
    net::TlsConnection connection_;
};

/// The addresses of `endpoint`, or ProtocolError.
Tcp::resolver::results_type look_up(const Endpoint& endpoint, net::Clock::time_point deadline,
                                    int stop) {
    using Addresses = Tcp::resolver::results_type;
    const auto found = net::before<Addresses>(deadline, stop, [endpoint] {
        asio::io_context io;
        ErrorCode error;
        Addresses addresses = Tcp::resolver(io).resolve(endpoint.host, endpoint.port, error);
        if (error) throw ProtocolError(error.message());
        return addresses;
    });
    if (!found) throw ProtocolError("the name was not resolved in time");
    return *found;
}

Tcp::socket TlsClient::connect(const Endpoint& endpoint, const TimeLimits& limits) {
    const auto deadline = net::Clock::now() + limits.timeout;
    const auto addresses = look_up(endpoint, deadline, limits.stop);
    Tcp::socket socket(io_);
    ErrorCode error = asio::error::timed_out;
    asio::async_connect(socket, addresses,
                        [&](const ErrorCode& result, const auto&) { error = result; });
    for (auto now = net::Clock::now(); now < deadline && !net::stop_asked(limits.stop);
         now = net::Clock::now()) {
        io_.run_until(std::min(deadline, now + net::stop_interval));
        if (io_.stopped()) break;
    }
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
                                       const TimeLimits& limits) try {
    return std::make_unique<TlsClient>(endpoint, certificates, limits);
} catch (const ProtocolError& error) {
    throw ProtocolError(describe(endpoint) + ": " + error.what());
}

}  // namespace slip
