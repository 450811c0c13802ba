// What David's server does with connections, whatever carries them: spec/transport.md.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "slip/transport.hpp"

namespace slip::net {

/// A connection of David's. One thread uses it; interrupt() and has_unread_bytes() may come from
/// others.
class ServedConnection : public Transport {
public:
    /// Throws ProtocolError, saying why, unless the peer may open a session. `heard` is called when
    /// the first bytes of a peer who speaks first have come.
    virtual void handshake(const std::function<void()>& heard) = 0;
    /// SESS-9: what was sent last reaches the peer, if he wants it.
    virtual void finish() noexcept = 0;
    /// Whether something has come that nobody has read yet.
    virtual bool has_unread_bytes() noexcept = 0;
};

/// Gives every connection a thread of its own, within the limits of WIRE-7 and SESS-8. What fails
/// in one is reported and hurts no other.
class SessionThreads {
public:
    using Serve = std::function<void(Transport&)>;
    using Report = std::function<void(const std::string& line)>;

    /// `most`: sessions at one time; there is room for twice as many connections.
    SessionThreads(std::size_t most, Serve serve, Report report)
        : most_(most), serve_(std::move(serve)), report_(std::move(report)) {}
    SessionThreads(const SessionThreads&) = delete;
    SessionThreads& operator=(const SessionThreads&) = delete;
    /// As stop().
    ~SessionThreads() { stop(); }

    /// Gives a connection its thread; from one thread at a time. Its handshake is done there,
    /// because it takes as long as the peer likes. Whoever opens many connections has one `origin`.
    /// What `connect` throws is reported.
    void begin(const std::string& peer, const std::string& origin,
               const std::function<std::unique_ptr<ServedConnection>()>& connect);
    /// Frees what belongs to connections that have ended.
    void collect() { join(false); }
    /// Ends every connection, and takes none from now on. From any thread.
    void interrupt();
    /// The same, and returns when every session has ended.
    void stop();
    /// SESS-13: a line for which there is no memory is left out.
    void report(const std::string& peer, std::string_view reason) noexcept;

private:
    /// How far a peer has come: he has sent nothing, or something, or may open a session.
    enum class Step { silent, heard, admitted };

    /// A connection and its thread. The connection is closed as soon as the thread is done with it.
    struct Session {
        std::string peer;
        std::string origin;
        std::unique_ptr<ServedConnection> connection;
        Step step = Step::silent;
        bool gave_way = false;  // to a newer connection
        bool finished = false;
        std::thread thread;

        bool can_give_way() const { return step != Step::admitted && !finished; }
        /// His thread may not have read yet what he has sent.
        bool is_silent() const {
            return step == Step::silent && !(connection && connection->has_unread_bytes());
        }
    };

    void begin_with(const std::string& peer, const std::string& origin,
                    std::unique_ptr<ServedConnection> connection);
    std::list<Session>::iterator session_to_end();
    bool make_room();
    void attend(Session& session) noexcept;
    const char* reason_of(const Session& session, const std::exception& error);
    void talk(Session& session, ServedConnection& connection);
    void advance(Session& session, Step step);
    bool take_slot();
    void give_slot();
    void join(bool all);

    const std::size_t most_;
    const Serve serve_;
    const Report report_;
    std::mutex report_mutex_;

    std::mutex mutex_;             // guards what follows
    std::list<Session> sessions_;  // a Session stays where it is
    std::size_t serving_ = 0;
    bool stopped_ = false;
};

}  // namespace slip::net
