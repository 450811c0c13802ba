#include "optimized/net/tls_connection.hpp"
#include "slip/tls.hpp"
//
#include <algorithm>
#include <boost/asio/post.hpp>
#include <string>
#include <thread>

#include "optimized/base/error.hpp"
#include "optimized/net/session_threads.hpp"

namespace slip {
namespace {

using net::Tcp;
using net::TlsConnection;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

std::string peer_of(const Tcp::socket& socket) {
    ErrorCode error;
    const Tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return "unknown";
    return describe({peer.address().to_string(), std::to_string(peer.port())});
}

/// What one owner of addresses has: an IPv4 address, or the 64 bits of an IPv6 network, within
/// which a host takes as many addresses as it likes.
std::string origin_of(const Tcp::socket& socket) {
    ErrorCode error;
    const asio::ip::address address = socket.remote_endpoint(error).address();
    if (error || address.is_v4()) return address.to_string();
    const asio::ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, v6).to_string();
    asio::ip::address_v6::bytes_type network = v6.to_bytes();
    std::fill(network.begin() + 8, network.end(), std::uint8_t{0});
    return asio::ip::address_v6(network).to_string();
}

}  // namespace

struct TlsServer::State {
    State(std::filesystem::path folder, const DavidOptions& options, Serve serve, Report report)
        : certificates(std::move(folder)),
          limits(options.limits),
          context(make_context()),
          acceptor(io),
          sessions(options.max_sessions, std::move(serve), std::move(report)) {}

    asio::ssl::context make_context() const {
        return net::make_context(certificates, net::Role::david, net::Role::charlie);
    }
    void listen(const Endpoint& endpoint);
    void accept();
    void begin(Tcp::socket socket);

    const std::filesystem::path certificates;
    const TimeLimits limits;
    asio::ssl::context context;  // of new connections; the thread that accepts them changes it
    /// The context of the connections. Nobody waits for its events, so that a frame wakes the
    /// thread of its own session alone. An accept that is pending in `io` holds one of these
    /// sockets, so this is destroyed after `io`.
    asio::io_context unwatched;
    asio::io_context io;  // of the listener
    Tcp::acceptor acceptor;
    unsigned short port = 0;
    net::SessionThreads sessions;  // destroyed before what their connections use
};

void TlsServer::State::listen(const Endpoint& endpoint) try {
    Tcp::resolver resolver(io);
    const auto addresses = resolver.resolve(endpoint.host, endpoint.port, Tcp::resolver::passive);
    const Tcp::endpoint address = addresses.begin()->endpoint();
    acceptor.open(address.protocol());
    acceptor.set_option(Tcp::acceptor::reuse_address(true));
    acceptor.bind(address);
    acceptor.listen();
    port = acceptor.local_endpoint().port();
} catch (const boost::system::system_error& error) {
    throw BadInput("cannot listen on " + describe(endpoint) + ": " + error.code().message());
}

void TlsServer::State::accept() {
    acceptor.async_accept(unwatched, [this](const ErrorCode& error, Tcp::socket socket) {
        sessions.collect();
        if (error) {
            // Too many open files, most likely: give the sessions time to end.
            sessions.report("unknown", "the connection was not accepted: " + error.message());
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        } else {
            begin(std::move(socket));
        }
        accept();
    });
}

void TlsServer::State::begin(Tcp::socket socket) {
    const std::string peer = peer_of(socket), origin = origin_of(socket);
    sessions.begin(peer, origin, [&] {
        return std::make_unique<TlsConnection>(std::move(socket), context, net::Role::charlie,
                                               limits);
    });
}

TlsServer::TlsServer(const Endpoint& listen, const std::filesystem::path& certificates,
                     const DavidOptions& options, Serve serve, Report report)
    : state_(std::make_unique<State>(certificates, options, std::move(serve), std::move(report))) {
    state_->listen(listen);
}

TlsServer::~TlsServer() {
    stop();
    state_->sessions.stop();
}

unsigned short TlsServer::port() const { return state_->port; }

void TlsServer::run() {
    state_->accept();
    state_->io.run();
    ErrorCode ignored;
    state_->acceptor.close(ignored);
    state_->sessions.stop();
}

void TlsServer::reload() {
    const auto context = std::make_shared<asio::ssl::context>(state_->make_context());
    asio::post(state_->io,
               [state = state_.get(), context] { state->context = std::move(*context); });
}

void TlsServer::stop() {
    state_->io.stop();
    state_->sessions.interrupt();
}

}  // namespace slip
