#include "optimized/net/session_threads.hpp"

#include <array>
#include <map>
#include <span>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"

namespace slip::net {
namespace {

/// Answers the first frame, whatever it is, with REFUSE busy (WIRE-7). It must come at once: this
/// connection takes a place, and has no session whose patience it could claim (SESS-8).
void refuse_busy(Transport& transport) {
    namespace wire = protocol::wire;
    std::array<std::byte, wire::hello_bytes> buffer{};
    const auto field = std::span(buffer).first<wire::length_bytes>();
    transport.receive(field);
    transport.receive(std::span(buffer).first(wire::decode_length(field, wire::hello_bytes)));
    transport.send(wire::encode_refuse(wire::Refusal::busy));
}

}  // namespace

void SessionThreads::begin(const std::string& peer, const std::string& origin,
                           const std::function<std::unique_ptr<ServedConnection>()>& connect) {
    try {
        begin_with(peer, origin, connect());
    } catch (const std::exception& error) {
        report(peer, error.what());
    }
}

void SessionThreads::begin_with(const std::string& peer, const std::string& origin,
                                std::unique_ptr<ServedConnection> connection) {
    if (!make_room()) throw ProtocolError("closed at once, there are too many connections");
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    Session& session = sessions_.emplace_back();
    session.peer = peer;
    session.origin = origin;
    session.connection = std::move(connection);
    try {
        session.thread = std::thread([this, &session] { attend(session); });
    } catch (...) {
        sessions_.pop_back();
        throw;
    }
}

/// Who gives way to a newer connection, or sessions_.end() if all peers have been admitted: of the
/// origin with the most handshakes one whose peer has sent nothing, or else the oldest. So whoever
/// opens many takes his own places, and an honest peer, who speaks at once, keeps his. `mutex_` is
/// held.
std::list<SessionThreads::Session>::iterator SessionThreads::session_to_end() {
    std::map<std::string, std::size_t> of_origin;
    for (const Session& session : sessions_) {
        if (session.can_give_way()) ++of_origin[session.origin];
    }
    auto chosen = sessions_.end();
    std::pair<std::size_t, bool> most;
    for (auto session = sessions_.begin(); session != sessions_.end(); ++session) {  // oldest first
        if (!session->can_give_way()) continue;
        const std::pair claim(of_origin[session->origin], session->is_silent());
        if (chosen != sessions_.end() && claim <= most) continue;
        chosen = session;
        most = claim;
    }
    return chosen;
}

/// Whether one more connection may begin. Where there are too many, an unfinished handshake ends.
bool SessionThreads::make_room() {
    std::list<Session> leaving;
    {
        const std::lock_guard lock(mutex_);
        if (sessions_.size() < 2 * most_) return true;
        const auto chosen = session_to_end();
        if (chosen == sessions_.end()) return false;
        chosen->gave_way = true;
        if (chosen->connection) chosen->connection->interrupt();
        leaving.splice(leaving.end(), sessions_, chosen);
    }
    leaving.front().thread.join();
    return true;
}

/// Why a connection ended badly: a peer who gave way has done nothing wrong.
const char* SessionThreads::reason_of(const Session& session, const std::exception& error) {
    const std::lock_guard lock(mutex_);
    if (!session.gave_way) return error.what();
    return "closed in its handshake, there are too many connections";
}

/// The life of a session's thread. Whatever happens here hurts no other session.
void SessionThreads::attend(Session& session) noexcept {
    ServedConnection* connection = nullptr;
    {
        const std::lock_guard lock(mutex_);  // begin() has finished when it is free
        connection = session.connection.get();
    }
    try {
        talk(session, *connection);
    } catch (const std::exception& error) {
        report(session.peer, reason_of(session, error));
    }
    connection->finish();
    const std::lock_guard lock(mutex_);
    session.connection.reset();
    session.finished = true;
}

void SessionThreads::talk(Session& session, ServedConnection& connection) {
    connection.handshake([&] { advance(session, Step::heard); });
    advance(session, Step::admitted);
    if (!take_slot()) {
        refuse_busy(connection);
        throw ProtocolError("refused, there are " + std::to_string(most_) + " sessions");
    }
    try {
        serve_(connection);
    } catch (...) {
        give_slot();
        throw;
    }
    give_slot();
}

void SessionThreads::advance(Session& session, Step step) {
    const std::lock_guard lock(mutex_);
    session.step = step;
}

bool SessionThreads::take_slot() {
    const std::lock_guard lock(mutex_);
    if (serving_ == most_) return false;
    ++serving_;
    return true;
}

void SessionThreads::give_slot() {
    const std::lock_guard lock(mutex_);
    --serving_;
}

/// Joins the threads that have finished, or waits for all.
void SessionThreads::join(bool all) {
    std::list<Session> ended;
    {
        const std::lock_guard lock(mutex_);
        for (auto session = sessions_.begin(); session != sessions_.end();) {
            const auto next = std::next(session);
            if (all || session->finished) ended.splice(ended.end(), sessions_, session);
            session = next;
        }
    }
    for (Session& session : ended) session.thread.join();
}

void SessionThreads::interrupt() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Session& session : sessions_) {
        if (session.connection) session.connection->interrupt();
    }
}

void SessionThreads::stop() {
    interrupt();
    join(true);
}

void SessionThreads::report(const std::string& peer, std::string_view reason) noexcept {
    try {
        std::string line = "peer=" + peer + " reason=\"";
        for (const char character : reason) line += character == '"' ? '\'' : character;
        const std::lock_guard lock(report_mutex_);
        report_(line + "\"");
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no memory for a line
    }
}

}  // namespace slip::net
