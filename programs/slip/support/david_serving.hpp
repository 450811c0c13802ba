// What serving is for `slip david`: flags, signals, the service and its log.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "optimized/protocol/david.hpp"
#include "optimized/protocol/frames.hpp"
#include "programs/slip/support/addresses.hpp"
#include "programs/slip/support/event_log.hpp"
#include "programs/slip/support/options.hpp"
#include "programs/slip/support/stop_on_signal.hpp"
#include "slip/david.hpp"
#include "slip/tls.hpp"

namespace slip::tool {

/// Declares --artifact, --listen, --tls, --peer-user, --max-sessions, --threads, --gpu, --timeout,
/// --patience and --misbehave.
void add_serving_flags(Options& options);
/// --listen, or a port of the loopback device. Throws BadInput, naming the flag, where --tls is
/// missing or without use, and --peer-user without use.
Address where_to_listen(const Options& options);
/// What the others say. Throws BadInput, naming the flag.
DavidOptions serving_options(const Options& options);

/// The demonstration of a dishonest David: the first byte of the reply to the first message, of
/// sequence 0, rises by one. Empty without --misbehave.
protocol::DavidSession::Tamper misbehaviour(const Options& options);

/// A session that is refused has ended badly, although its connection has not.
class NotedRefusal : public Transport {
public:
    explicit NotedRefusal(Transport& connection) : connection_(connection) {}

    void send(std::span<const std::byte> bytes) override;
    void receive(std::span<std::byte> bytes) override { connection_.receive(bytes); }
    void await_frame() override { connection_.await_frame(); }
    void interrupt() noexcept override { connection_.interrupt(); }

    /// Throws ProtocolError with the reason if the session was refused.
    void require_not_refused() const;

private:
    Transport& connection_;
    std::optional<protocol::wire::Refusal> refused_;
};

/// Serves connections until one of the blocked `signals` arrives. Logs `about`, what is served, and
/// where it listens; prints the address, and logs what ends badly. `on_server` receives the
/// function that stops the server, before the server accepts a connection.
void serve_until_signal(const Options& options, const sigset_t& signals, EventLog::Fields about,
                        TlsServer::Serve serve,
                        const std::function<void(std::function<void()> stop)>& on_server);

}  // namespace slip::tool
