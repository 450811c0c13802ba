// TLS 1.3 with mutual authentication: spec/session.md, SESS-7.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "slip/export.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

enum class Role { charlie, david };
const char* name_of(Role role);

/// Makes a deployment's certificates: OUT/ca (certificate and key), OUT/charlie and OUT/david (each
/// ca.pem, cert.pem, key.pem). Keys are 0600, folders 0700 (THREAT-2). OUT must not exist.
void make_keys(const std::filesystem::path& out);

struct TlsOptions {
    std::filesystem::path folder;  // one party's: ca.pem, cert.pem, key.pem
    Role role = Role::charlie;     // ours; the peer must be the other
    TimeLimits limits = {};
};

/// "HOST:PORT", also "[::1]:PORT". Throws BadInput, naming the flag.
struct Endpoint {
    std::string host;
    std::string port;
};
Endpoint parse_endpoint(const std::string& text, const std::string& flag);
/// The same form again.
std::string describe(const Endpoint& endpoint);

/// Charlie's side. The peer's name is describe(endpoint) (INTEG-7). Throws ProtocolError, naming
/// the endpoint, if the connection or the peer's certificate is refused.
std::unique_ptr<Transport> connect_tls(const Endpoint& endpoint, const TlsOptions& options);

/// David's side: accepts connections until stop() and gives each, once the handshake has succeeded,
/// to `serve` on a thread of its own. A failed handshake or session is reported and hurts no other.
class TlsServer {
public:
    struct Options {
        TlsOptions tls;
        /// A peer beyond these gets REFUSE busy. As many more may be in their handshakes; further
        /// connections are closed at once.
        std::size_t max_sessions = 16;
    };
    using Serve = std::function<void(Transport&)>;
    /// Gets a line about what ended badly, one call at a time.
    using Report = std::function<void(const std::string& line)>;

    /// Throws BadInput if the folder or the address is not usable. Connections wait until run().
    TlsServer(const Endpoint& listen, const Options& options, Serve serve, Report report);
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;
    ~TlsServer();
    /// The port in use (for "HOST:0").
    unsigned short port() const;
    /// Serves until stop(), and until every session has ended.
    void run();
    /// From any thread or a signal handler's thread: closes the listener and every connection.
    void stop();

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
