// Connections of HTTP/1.1, with TLS or without.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

#include "programs/endpoint/parsing/http.hpp"
#include "slip/tls.hpp"

namespace slip::endpoint {

/// A server's certificate, with those between it and the authority behind it, and its key: PEM.
struct HttpsFiles {
    std::filesystem::path certificate;
    std::filesystem::path key;
};

/// What clients may take.
struct ServerOptions {
    std::optional<HttpsFiles> https;  ///< none: without TLS
    /// Whether the address may be one that other machines reach.
    bool remote = false;
    RequestLimits request;
    /// A further one takes the place of the one that has been idle for longest, or else of the one
    /// whose request has been incomplete for longest; if all wait for answers, it is closed.
    std::size_t connections = 256;
    std::chrono::milliseconds idle{60000};   ///< between two requests
    std::chrono::milliseconds head{30000};   ///< for a handshake, or a head that has begun
    std::chrono::milliseconds body{30000};   ///< for a body
    std::chrono::milliseconds write{30000};  ///< for a client to take what is written at once
    /// Of an answer that the client has not taken yet; beyond that he is given up.
    std::size_t unread = std::size_t{1} << 20;
};

/// Serves connections in a thread of its own, and has requests handled by two others, those without
/// a body by a third.
class Server {
public:
    /// Listens. The handler outlives the server. Throws BadInput if the address cannot be had, is
    /// not loopback although that is required, or if the certificate is not usable, naming the
    /// file.
    Server(const Endpoint& listen, const ServerOptions& options, RequestHandler& handler);
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Closes every connection.
    ~Server();

    /// The port in use (for "HOST:0").
    unsigned short port() const;
    /// Connections that are open.
    std::size_t connections() const;
    /// Reads the certificate and its key again, for connections that come from now on. Throws
    /// BadInput, naming the file, and changes nothing if they are not usable.
    void reload();
    /// Closes the listener and idle connections; the others are closed after their answers.
    void drain();
    /// After drain(): returns when the answers that were begun have been sent, or given up. The
    /// handler is not called afterwards.
    void finish();
    /// Closes every connection, answered or not.
    void close_all();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace slip::endpoint
