// TLS 1.3 with mutual authentication: spec/transport.md, SESS-7.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "slip/david.hpp"
#include "slip/export.hpp"
#include "slip/transport.hpp"

namespace SLIP_API slip {

/// Makes a deployment's certificates: OUT/ca (certificate and key), OUT/charlie and OUT/david (each
/// ca.pem, cert.pem, key.pem). Keys are 0600, folders 0700 (THREAT-2). OUT must not exist.
void make_keys(const std::filesystem::path& out);

/// Gives OUT/charlie and OUT/david of `folder`, OUT of make_keys(), new certificates for the keys
/// that they have, from the authority that they have; they hold for two years, or until the
/// authority's own ends. Nothing else changes, and old and new certificates work together while
/// they are valid. Throws BadInput, and changes nothing, if `folder` is no such OUT, whole, or if
/// the authority's certificate holds for less than 30 days.
void renew_keys(const std::filesystem::path& folder);

/// Where David listens.
struct Endpoint {
    std::string host;  ///< a name or an address, without brackets
    std::string port;  ///< digits; "0" asks for a free one to listen on
};
/// "HOST:PORT", also "[::1]:PORT". Throws BadInput, naming `flag`.
[[nodiscard]] Endpoint parse_endpoint(const std::string& text, const std::string& flag);
/// "HOST:PORT" of an endpoint, as parse_endpoint() reads it.
[[nodiscard]] std::string describe(const Endpoint& endpoint);

/// Charlie's side, with the certificates of his folder. The peer's name is describe(endpoint)
/// (INTEG-7). Throws BadInput, naming the file, if the folder is not Charlie's, and ProtocolError,
/// naming the endpoint, if the connection is refused or the peer's certificate is not David's.
[[nodiscard]] std::unique_ptr<Transport> connect_tls(const Endpoint& endpoint,
                                                     const std::filesystem::path& certificates,
                                                     const TimeLimits& limits = {});

/// David's side: accepts connections until stop() and gives each, once the handshake has succeeded,
/// to `serve` on a thread of its own. A failed handshake or session is reported and hurts no other.
class TlsServer {
public:
    /// Serves one session; what it throws ends the connection and is reported.
    using Serve = std::function<void(Transport&)>;
    /// Gets a line about what ended badly, peer=ADDRESS reason="TEXT", one call at a time.
    using Report = std::function<void(const std::string& line)>;

    /// Throws BadInput if David's folder `certificates` or the address is not usable. Connections
    /// wait until run(). Of `options`, max_sessions and limits hold for this server.
    TlsServer(const Endpoint& listen, const std::filesystem::path& certificates,
              const DavidOptions& options, Serve serve, Report report);
    TlsServer(const TlsServer&) = delete;
    TlsServer& operator=(const TlsServer&) = delete;
    ~TlsServer();
    /// The port in use (for "HOST:0").
    unsigned short port() const;
    /// Serves until stop(), and until every session has ended.
    void run();
    /// From any thread: reads the certificates again, for connections that come from now on. Throws
    /// BadInput, naming the file, and changes nothing if they are not usable.
    void reload();
    /// From any thread or a signal handler's thread: closes the listener and every connection.
    void stop();

private:
    struct SLIP_HIDDEN State;
    std::unique_ptr<State> state_;
};

}  // namespace slip
