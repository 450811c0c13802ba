// A connection's bytes, with TLS or without. Private to this folder.
#pragma once

#include <utility>
// Boost 1.74's Asio needs <utility> before it.
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "programs/endpoint/net/server.hpp"

namespace slip::endpoint {

using Tcp = boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

/// Every function calls `done` later, in the thread of the socket. Reading and writing may be under
/// way at the same time.
class Stream {
public:
    using Done = std::function<void(const ErrorCode&, std::size_t)>;
    virtual ~Stream() = default;
    /// Before anything else; a handshake where there is one.
    virtual void open(Done done) = 0;
    virtual void read_some(boost::asio::mutable_buffer buffer, Done done) = 0;
    virtual void write_all(boost::asio::const_buffer buffer, Done done) = 0;
    /// Tells the peer that nothing more comes.
    virtual void end(Done done) = 0;
    virtual Tcp::socket& socket() = 0;
};

std::unique_ptr<Stream> plain_stream(Tcp::socket socket);
std::unique_ptr<Stream> tls_stream(Tcp::socket socket,
                                   std::shared_ptr<boost::asio::ssl::context> context);
/// TLS 1.2 and 1.3 with the certificate of `files`, without client certificates. Throws BadInput,
/// naming the file.
boost::asio::ssl::context https_context(const HttpsFiles& files);

}  // namespace slip::endpoint
