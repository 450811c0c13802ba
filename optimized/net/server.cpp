#include "optimized/net/tls_connection.hpp"
#include "slip/tls.hpp"
//
#include <array>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"

namespace slip {
namespace {

namespace wire = protocol::wire;
using net::Tcp;
using net::TlsConnection;

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

std::string peer_of(const Tcp::socket& socket) {
    ErrorCode error;
    const Tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return "a peer";
    return describe({peer.address().to_string(), std::to_string(peer.port())});
}

/// Answers the first frame, whatever it is, with REFUSE busy (WIRE-7). It must come at once: this
/// connection takes a place, and has no session whose patience it could claim (SESS-8).
void refuse_busy(Transport& transport) {
    std::array<std::byte, wire::hello_bytes> buffer{};
    const auto field = std::span(buffer).first<wire::length_bytes>();
    transport.receive(field);
    transport.receive(std::span(buffer).first(wire::decode_length(field, buffer.size())));
    transport.send(wire::encode_refuse(wire::Refusal::busy));
}

}  // namespace

struct TlsServer::State {
    /// A connection and its thread. The connection is closed as soon as the thread is done with it.
    struct Session {
        std::string peer;
        std::unique_ptr<TlsConnection> connection;
        bool finished = false;
        std::thread thread;
    };

    State(const std::filesystem::path& certificates, const DavidOptions& o, Serve s, Report r)
        : options(o),
          context(net::make_context(certificates, net::Role::david)),
          serve(std::move(s)),
          report(std::move(r)),
          acceptor(io) {}

    void listen(const Endpoint& endpoint);
    void accept();
    void begin(Tcp::socket socket);
    void attend(Session& session) noexcept;
    void talk(TlsConnection& connection);
    bool take_slot();
    void give_slot();
    void join(bool all);
    void interrupt_all();
    void tell(const std::string& line);

    DavidOptions options;
    asio::ssl::context context;
    Serve serve;
    Report report;
    std::mutex report_mutex;
    asio::io_context io;
    Tcp::acceptor acceptor;
    unsigned short port = 0;

    std::mutex mutex;             // guards what follows
    std::list<Session> sessions;  // a Session stays where it is
    std::size_t serving = 0;
    bool stopped = false;
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
    acceptor.async_accept([this](const ErrorCode& error, Tcp::socket socket) {
        join(false);
        if (error) {
            // Too many open files, most likely: give the sessions time to end.
            tell("a connection was not accepted: " + error.message());
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        } else {
            begin(std::move(socket));
        }
        accept();
    });
}

/// Gives a connection its thread. Its handshake is done there, because it takes as long as the peer
/// likes.
void TlsServer::State::begin(Tcp::socket socket) try {
    const std::string peer = peer_of(socket);
    auto connection = std::make_unique<TlsConnection>(std::move(socket), context, net::Role::david,
                                                      options.limits);
    const std::lock_guard lock(mutex);
    if (stopped) return;
    if (sessions.size() >= 2 * options.max_sessions) {
        throw ProtocolError("closed at once, there are too many connections");
    }
    Session& session = sessions.emplace_back();
    session.peer = peer;
    session.connection = std::move(connection);
    try {
        session.thread = std::thread([this, &session] { attend(session); });
    } catch (...) {
        sessions.pop_back();
        throw;
    }
} catch (const std::exception& error) {
    tell(std::string("a connection: ") + error.what());
}

/// The life of a session's thread. Whatever happens here hurts no other session.
void TlsServer::State::attend(Session& session) noexcept {
    TlsConnection* connection = nullptr;
    {
        const std::lock_guard lock(mutex);  // begin() has finished when it is free
        connection = session.connection.get();
    }
    try {
        talk(*connection);
    } catch (const std::exception& error) {
        tell(session.peer + ": " + error.what());
    }
    connection->finish();
    const std::lock_guard lock(mutex);
    session.connection.reset();
    session.finished = true;
}

void TlsServer::State::talk(TlsConnection& connection) {
    connection.handshake();
    if (!take_slot()) {
        refuse_busy(connection);
        throw ProtocolError("refused, there are " + std::to_string(options.max_sessions) +
                            " sessions");
    }
    try {
        serve(connection);
    } catch (...) {
        give_slot();
        throw;
    }
    give_slot();
}

bool TlsServer::State::take_slot() {
    const std::lock_guard lock(mutex);
    if (serving == options.max_sessions) return false;
    ++serving;
    return true;
}

void TlsServer::State::give_slot() {
    const std::lock_guard lock(mutex);
    --serving;
}

/// Joins the threads that have finished, or waits for all.
void TlsServer::State::join(bool all) {
    std::list<Session> ended;
    {
        const std::lock_guard lock(mutex);
        for (auto session = sessions.begin(); session != sessions.end();) {
            const auto next = std::next(session);
            if (all || session->finished) ended.splice(ended.end(), sessions, session);
            session = next;
        }
    }
    for (Session& session : ended) session.thread.join();
}

void TlsServer::State::interrupt_all() {
    const std::lock_guard lock(mutex);
    stopped = true;
    for (Session& session : sessions) {
        if (session.connection) session.connection->interrupt();
    }
}

void TlsServer::State::tell(const std::string& line) {
    const std::lock_guard lock(report_mutex);
    report(line);
}

TlsServer::TlsServer(const Endpoint& listen, const std::filesystem::path& certificates,
                     const DavidOptions& options, Serve serve, Report report)
    : state_(std::make_unique<State>(certificates, options, std::move(serve), std::move(report))) {
    state_->listen(listen);
}

TlsServer::~TlsServer() {
    stop();
    state_->join(true);
}

unsigned short TlsServer::port() const { return state_->port; }

void TlsServer::run() {
    state_->accept();
    state_->io.run();
    ErrorCode ignored;
    state_->acceptor.close(ignored);
    state_->interrupt_all();
    state_->join(true);
}

void TlsServer::stop() {
    state_->io.stop();
    state_->interrupt_all();
}

}  // namespace slip
