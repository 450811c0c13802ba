#include "optimized/net/tls_connection.hpp"
#include "slip/tls.hpp"
//
#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <list>
#include <map>
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

/// Answers the first frame, whatever it is, with REFUSE busy (WIRE-7). It must come at once: this
/// connection takes a place, and has no session whose patience it could claim (SESS-8).
void refuse_busy(Transport& transport) {
    std::array<std::byte, wire::hello_bytes> buffer{};
    const auto field = std::span(buffer).first<wire::length_bytes>();
    transport.receive(field);
    transport.receive(std::span(buffer).first(wire::decode_length(field, wire::hello_bytes)));
    transport.send(wire::encode_refuse(wire::Refusal::busy));
}

}  // namespace

struct TlsServer::State {
    /// How far a peer has come: he has sent nothing, or something, or shown his certificate.
    enum class Step { silent, heard, authenticated };

    /// A connection and its thread. The connection is closed as soon as the thread is done with it.
    struct Session {
        std::string peer;
        std::string origin;
        std::unique_ptr<TlsConnection> connection;
        Step step = Step::silent;
        bool gave_way = false;  // to a newer connection
        bool finished = false;
        std::thread thread;

        bool can_give_way() const { return step != Step::authenticated && !finished; }
        /// His thread may not have read yet what he has sent.
        bool is_silent() const {
            return step == Step::silent && !(connection && connection->has_unread_bytes());
        }
    };

    State(std::filesystem::path folder, const DavidOptions& o, Serve s, Report r)
        : certificates(std::move(folder)),
          options(o),
          context(make_context()),
          serve(std::move(s)),
          report(std::move(r)),
          acceptor(io) {}

    asio::ssl::context make_context() const {
        return net::make_context(certificates, net::Role::david, net::Role::charlie);
    }
    void listen(const Endpoint& endpoint);
    void accept();
    void begin(Tcp::socket socket);
    void begin_with(const std::string& peer, Tcp::socket socket);
    std::list<Session>::iterator who_gives_way();
    bool make_room();
    void attend(Session& session) noexcept;
    std::string reason_of(const Session& session, const std::exception& error);
    void talk(Session& session, TlsConnection& connection);
    void advance(Session& session, Step step);
    bool take_slot();
    void give_slot();
    void join(bool all);
    void interrupt_all();
    void tell(const std::string& peer, std::string reason);

    const std::filesystem::path certificates;
    DavidOptions options;
    asio::ssl::context context;  // of new connections; the thread that accepts them changes it
    Serve serve;
    Report report;
    std::mutex report_mutex;
    /// Of the connections. Nobody waits for its events, so that a frame wakes the thread of its own
    /// session alone. An accept that is pending in `io` holds one of these sockets, so this is
    /// destroyed after `io`.
    asio::io_context unwatched;
    asio::io_context io;  // of the listener
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
    acceptor.async_accept(unwatched, [this](const ErrorCode& error, Tcp::socket socket) {
        join(false);
        if (error) {
            // Too many open files, most likely: give the sessions time to end.
            tell("unknown", "the connection was not accepted: " + error.message());
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        } else {
            begin(std::move(socket));
        }
        accept();
    });
}

/// Gives a connection its thread. Its handshake is done there, because it takes as long as the peer
/// likes.
void TlsServer::State::begin(Tcp::socket socket) {
    const std::string peer = peer_of(socket);
    try {
        begin_with(peer, std::move(socket));
    } catch (const std::exception& error) {
        tell(peer, error.what());
    }
}

void TlsServer::State::begin_with(const std::string& peer, Tcp::socket socket) {
    const std::string origin = origin_of(socket);
    auto connection = std::make_unique<TlsConnection>(std::move(socket), context,
                                                      net::Role::charlie, options.limits);
    if (!make_room()) throw ProtocolError("closed at once, there are too many connections");
    const std::lock_guard lock(mutex);
    if (stopped) return;
    Session& session = sessions.emplace_back();
    session.peer = peer;
    session.origin = origin;
    session.connection = std::move(connection);
    try {
        session.thread = std::thread([this, &session] { attend(session); });
    } catch (...) {
        sessions.pop_back();
        throw;
    }
}

/// Who gives way to a newer connection, or sessions.end() if all peers have shown a certificate: of
/// the origin with the most handshakes one whose peer has sent nothing, or else the oldest. So
/// whoever opens many takes his own places, and an honest peer, who speaks at once, keeps his.
/// `mutex` is held.
std::list<TlsServer::State::Session>::iterator TlsServer::State::who_gives_way() {
    std::map<std::string, std::size_t> of_origin;
    for (const Session& session : sessions) {
        if (session.can_give_way()) ++of_origin[session.origin];
    }
    auto chosen = sessions.end();
    std::pair<std::size_t, bool> most;
    for (auto session = sessions.begin(); session != sessions.end(); ++session) {  // oldest first
        if (!session->can_give_way()) continue;
        const std::pair claim(of_origin[session->origin], session->is_silent());
        if (chosen != sessions.end() && claim <= most) continue;
        chosen = session;
        most = claim;
    }
    return chosen;
}

/// Whether one more connection may begin. Where there are too many, an unfinished handshake ends.
bool TlsServer::State::make_room() {
    std::list<Session> leaving;
    {
        const std::lock_guard lock(mutex);
        if (sessions.size() < 2 * options.max_sessions) return true;
        const auto chosen = who_gives_way();
        if (chosen == sessions.end()) return false;
        chosen->gave_way = true;
        if (chosen->connection) chosen->connection->interrupt();
        leaving.splice(leaving.end(), sessions, chosen);
    }
    leaving.front().thread.join();
    return true;
}

/// Why a connection ended badly: a peer who gave way has done nothing wrong.
std::string TlsServer::State::reason_of(const Session& session, const std::exception& error) {
    const std::lock_guard lock(mutex);
    if (!session.gave_way) return error.what();
    return "closed in its handshake, there are too many connections";
}

/// The life of a session's thread. Whatever happens here hurts no other session.
void TlsServer::State::attend(Session& session) noexcept {
    TlsConnection* connection = nullptr;
    {
        const std::lock_guard lock(mutex);  // begin() has finished when it is free
        connection = session.connection.get();
    }
    try {
        talk(session, *connection);
    } catch (const std::exception& error) {
        tell(session.peer, reason_of(session, error));
    }
    connection->finish();
    const std::lock_guard lock(mutex);
    session.connection.reset();
    session.finished = true;
}

void TlsServer::State::talk(Session& session, TlsConnection& connection) {
    connection.handshake([&] { advance(session, Step::heard); });
    advance(session, Step::authenticated);
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

void TlsServer::State::advance(Session& session, Step step) {
    const std::lock_guard lock(mutex);
    session.step = step;
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

void TlsServer::State::tell(const std::string& peer, std::string reason) {
    std::replace(reason.begin(), reason.end(), '"', '\'');
    const std::lock_guard lock(report_mutex);
    report("peer=" + peer + " reason=\"" + reason + "\"");
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

void TlsServer::reload() {
    const auto context = std::make_shared<asio::ssl::context>(state_->make_context());
    asio::post(state_->io,
               [state = state_.get(), context] { state->context = std::move(*context); });
}

void TlsServer::stop() {
    state_->io.stop();
    state_->interrupt_all();
}

}  // namespace slip
