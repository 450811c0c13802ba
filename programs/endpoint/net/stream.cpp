#include "programs/endpoint/net/stream.hpp"
//
#include <openssl/err.h>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "slip/error.hpp"

namespace slip::endpoint {
namespace {

namespace asio = boost::asio;

class PlainStream : public Stream {
public:
    explicit PlainStream(Tcp::socket socket) : socket_(std::move(socket)) {}

    void open(Done done) override {
        asio::post(socket_.get_executor(), [done = std::move(done)] { done({}, 0); });
    }
    void read_some(asio::mutable_buffer buffer, Done done) override {
        socket_.async_read_some(buffer, std::move(done));
    }
    void write_all(asio::const_buffer buffer, Done done) override {
        asio::async_write(socket_, buffer, std::move(done));
    }
    void end(Done done) override {
        ErrorCode error;
        socket_.shutdown(Tcp::socket::shutdown_send, error);
        asio::post(socket_.get_executor(), [done = std::move(done), error] { done(error, 0); });
    }
    Tcp::socket& socket() override { return socket_; }

private:
    Tcp::socket socket_;
};

class TlsStream : public Stream {
public:
    TlsStream(Tcp::socket socket, std::shared_ptr<asio::ssl::context> context)
        : context_(std::move(context)), stream_(std::move(socket), *context_) {}

    void open(Done done) override {
        stream_.async_handshake(
            asio::ssl::stream_base::server,
            [done = std::move(done)](const ErrorCode& error) { done(error, 0); });
    }
    void read_some(asio::mutable_buffer buffer, Done done) override {
        stream_.async_read_some(buffer, std::move(done));
    }
    void write_all(asio::const_buffer buffer, Done done) override {
        asio::async_write(stream_, buffer, std::move(done));
    }
    void end(Done done) override {
        stream_.async_shutdown(
            [done = std::move(done)](const ErrorCode& error) { done(error, 0); });
    }
    Tcp::socket& socket() override { return stream_.next_layer(); }

private:
    const std::shared_ptr<asio::ssl::context> context_;
    asio::ssl::stream<Tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Stream> plain_stream(Tcp::socket socket) {
    return std::make_unique<PlainStream>(std::move(socket));
}

std::unique_ptr<Stream> tls_stream(Tcp::socket socket,
                                   std::shared_ptr<asio::ssl::context> context) {
    return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

asio::ssl::context https_context(const HttpsFiles& files) {
    asio::ssl::context context(asio::ssl::context::tls_server);
    SSL_CTX* const native = context.native_handle();
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT);
    const auto require = [](const ErrorCode& error, const std::filesystem::path& file,
                            const char* what) {
        ERR_clear_error();
        if (!error) return;
        throw BadInput(file.string() + ": expected " + what + " in PEM (" + error.message() + ")");
    };
    ErrorCode error;
    context.use_certificate_chain_file(files.certificate.string(), error);
    require(error, files.certificate, "a certificate");
    context.use_private_key_file(files.key.string(), asio::ssl::context::pem, error);
    require(error, files.key, "the certificate's private key");
    return context;
}

}  // namespace slip::endpoint
