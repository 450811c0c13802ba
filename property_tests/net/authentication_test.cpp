// TLS between Charlie and David: who is let in, on either side (SESS-7).
// test: threads
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "property_tests/generators/refusal.hpp"
#include "property_tests/net/deployment.hpp"

namespace slip::testing {
namespace {

namespace wire = protocol::wire;
using namespace net;

TEST(Tls, SESS_7_a_session_with_mutual_authentication_works) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    EXPECT_TRUE(serves(server, model));
    EXPECT_TRUE(serves(server, model));
    server.stop();
    EXPECT_EQ(server.finished, 2);
    EXPECT_TRUE(server.lines().empty());
}

/// In TLS 1.3 a client learns only with the first answer that the server refuses its certificate,
/// so a refusal may show at the connection or at HELLO.
void expect_refused(const Model& model, RunningServer& server, const Party& client,
                    const std::string& reason) {
    try {
        Client refused(model, server.endpoint(), client);
        ADD_FAILURE() << "the session was opened";
    } catch (const ProtocolError&) {
    }
    EXPECT_TRUE(server.reports(reason)) << reason;
    EXPECT_EQ(server.finished, 0);
    EXPECT_TRUE(serves(server, model)) << "others are not hurt";
}

TEST(Tls, SESS_7_a_charlie_of_another_deployment_is_refused) {
    const Model model(shapes, Fill::random, 1);
    {
        // He does not trust our David ...
        RunningServer server(model);
        expect_refused(model, server, options_of("theirs", Role::charlie), "handshake");
    }
    // ... and if he did, our David would not trust him.
    const TemporaryFolder folder;
    const fs::path theirs = Deployments::path() / "theirs/charlie";
    fs::copy(theirs / "cert.pem", folder.path() / "cert.pem");
    fs::copy(theirs / "key.pem", folder.path() / "key.pem");
    fs::copy(Deployments::path() / "ours/ca/cert.pem", folder.path() / "ca.pem");
    Party client = options_of("ours", Role::charlie);
    client.folder = folder.path();
    RunningServer server(model);
    expect_refused(model, server, client, "certificate");
}

TEST(Tls, SESS_7_a_certificate_of_the_wrong_role_is_refused) {
    const Model model(shapes, Fill::random, 1);
    // Our own folder of the wrong role is noticed before anything is sent.
    Party mistaken = options_of("ours", Role::charlie);
    mistaken.folder = Deployments::path() / "ours/david";
    EXPECT_THROW(connect_as({"127.0.0.1", "1"}, mistaken), BadInput);
    EXPECT_THROW(TlsServer({"127.0.0.1", "0"}, Deployments::path() / "ours/charlie", {}, {}, {}),
                 BadInput);
}

/// Bare OpenSSL raises SIGPIPE when the peer is gone; the product does not, so only the threads
/// that use bare OpenSSL block it.
template <class Body>
std::thread thread_without_sigpipe(Body body) {
    return std::thread([body] {
        sigset_t signals;
        ::sigemptyset(&signals);
        ::sigaddset(&signals, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        body();
    });
}

/// A client by OpenSSL alone, which shows any certificate and checks nothing.
bool raw_client_is_answered(
    const Endpoint& endpoint, const fs::path& folder, int version,
    const std::function<void(SSL_CTX*)>& prepare = [](SSL_CTX*) {}) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    prepare(context);
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    if (!folder.empty()) {
        SSL_CTX_use_certificate_file(context, (folder / "cert.pem").c_str(), SSL_FILETYPE_PEM);
        SSL_CTX_use_PrivateKey_file(context, (folder / "key.pem").c_str(), SSL_FILETYPE_PEM);
    }
    bool answered = false;
    thread_without_sigpipe([&] {
        BIO* connection = BIO_new_ssl_connect(context);
        BIO_set_conn_hostname(connection, ("127.0.0.1:" + endpoint.port).c_str());
        if (BIO_do_connect(connection) == 1) {
            const Bytes close = wire::encode_empty(wire::FrameType::close);  // gives REFUSE
            std::array<char, 6> answer{};
            answered = BIO_write(connection, close.data(), static_cast<int>(close.size())) > 0 &&
                       BIO_read(connection, answer.data(), answer.size()) > 0;
        }
        BIO_free_all(connection);
    }).join();
    SSL_CTX_free(context);
    return answered;
}

TEST(Tls, SESS_7_only_TLS_1_3_with_a_certificate_of_charlie_is_answered) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const fs::path ours = Deployments::path() / "ours";
    EXPECT_TRUE(raw_client_is_answered(server.endpoint(), ours / "charlie", TLS1_3_VERSION));
    EXPECT_FALSE(raw_client_is_answered(server.endpoint(), ours / "charlie", TLS1_2_VERSION));
    EXPECT_FALSE(raw_client_is_answered(server.endpoint(), ours / "david", TLS1_3_VERSION));
    EXPECT_FALSE(raw_client_is_answered(server.endpoint(), ours / "ca", TLS1_3_VERSION));
    EXPECT_FALSE(raw_client_is_answered(server.endpoint(), {}, TLS1_3_VERSION));
    const fs::path theirs = Deployments::path() / "theirs";
    EXPECT_FALSE(raw_client_is_answered(server.endpoint(), theirs / "charlie", TLS1_3_VERSION));
    EXPECT_TRUE(serves(server, model));
}

/// David gives no ticket, with which a later connection could do without certificates.
TEST(Tls, SESS_7_no_session_can_be_resumed) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    static std::atomic<int> tickets;
    tickets = 0;
    const auto count = [](SSL*, SSL_SESSION*) {
        ++tickets;
        return 0;
    };
    EXPECT_TRUE(raw_client_is_answered(server.endpoint(), Deployments::path() / "ours/charlie",
                                       TLS1_3_VERSION, [&](SSL_CTX* context) {
                                           SSL_CTX_set_session_cache_mode(context,
                                                                          SSL_SESS_CACHE_CLIENT);
                                           SSL_CTX_sess_set_new_cb(context, count);
                                       }));
    EXPECT_EQ(tickets, 0);
}

/// A server by OpenSSL alone that shows any certificate; returns whether connect_tls accepts it.
bool raw_server_is_accepted(const fs::path& folder, int version) {
    SSL_CTX* context = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    SSL_CTX_use_certificate_file(context, (folder / "cert.pem").c_str(), SSL_FILETYPE_PEM);
    SSL_CTX_use_PrivateKey_file(context, (folder / "key.pem").c_str(), SSL_FILETYPE_PEM);
    BIO* listener = BIO_new_accept("127.0.0.1:0");
    BIO_set_bind_mode(listener, BIO_BIND_REUSEADDR);
    EXPECT_EQ(BIO_do_accept(listener), 1);
    const Endpoint endpoint{"127.0.0.1", BIO_get_accept_port(listener)};
    std::thread thread = thread_without_sigpipe([&] {
        if (BIO_do_accept(listener) != 1) return;
        BIO* plain = BIO_pop(listener);
        SSL* ssl = SSL_new(context);
        SSL_set_bio(ssl, plain, plain);
        SSL_accept(ssl);
        SSL_free(ssl);
    });
    bool accepted = false;
    try {
        connect_as(endpoint, options_of("ours", Role::charlie));
        accepted = true;
    } catch (const ProtocolError&) {
        accepted = false;
    }
    thread.join();
    BIO_free_all(listener);
    SSL_CTX_free(context);
    return accepted;
}

TEST(Tls, SESS_7_charlie_accepts_only_TLS_1_3_with_a_certificate_of_david) {
    const fs::path ours = Deployments::path() / "ours";
    EXPECT_TRUE(raw_server_is_accepted(ours / "david", TLS1_3_VERSION));
    EXPECT_FALSE(raw_server_is_accepted(ours / "david", TLS1_2_VERSION));
    EXPECT_FALSE(raw_server_is_accepted(ours / "charlie", TLS1_3_VERSION));
    EXPECT_FALSE(raw_server_is_accepted(ours / "ca", TLS1_3_VERSION));
    EXPECT_FALSE(raw_server_is_accepted(Deployments::path() / "theirs/david", TLS1_3_VERSION));
}

/// OpenSSL finds a system's authorities where SSL_CERT_FILE says. Neither party asks it to.
TEST(Tls, SESS_7_an_authority_that_the_system_trusts_is_not_trusted) {
    const Model model(shapes, Fill::random, 1);
    const fs::path theirs = Deployments::path() / "theirs";
    ::setenv("SSL_CERT_FILE", (theirs / "ca/cert.pem").c_str(), 1);
    {
        RunningServer server(model);
        EXPECT_FALSE(raw_client_is_answered(server.endpoint(), theirs / "charlie", TLS1_3_VERSION));
        EXPECT_FALSE(raw_server_is_accepted(theirs / "david", TLS1_3_VERSION));
        EXPECT_TRUE(serves(server, model));
    }
    ::unsetenv("SSL_CERT_FILE");
}

TEST(Tls, SESS_7_certificates_out_of_their_time_are_refused) {
    const Model model(shapes, Fill::random, 1);
    for (const char* deployment : {"expired", "future"}) {
        RunningServer server(model, options_of(deployment, Role::david));
        EXPECT_THROW(Client(model, server.endpoint(), options_of(deployment, Role::charlie)),
                     ProtocolError);
        EXPECT_FALSE(raw_client_is_answered(
            server.endpoint(), Deployments::path() / deployment / "charlie", TLS1_3_VERSION));
        EXPECT_TRUE(server.reports("certificate"));
    }
}

TEST(Tls, SESS_10_a_running_server_takes_other_certificates) {
    const Model model(shapes, Fill::random, 1);
    const TemporaryFolder folder;
    const auto take = [&](const char* deployment) {
        fs::copy(Deployments::path() / deployment / "david", folder.path(),
                 fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    };
    take("ours");
    Party david = options_of("ours", Role::david);
    david.folder = folder.path();
    RunningServer server(model, david);
    const auto serves = [&](const char* deployment) {
        Client client(model, server.endpoint(), options_of(deployment, Role::charlie));
        return works(client, model);
    };
    EXPECT_TRUE(serves("ours"));
    take("theirs");
    EXPECT_TRUE(serves("ours")) << "nothing has been read";
    server.reload();
    EXPECT_TRUE(serves("theirs"));
    EXPECT_THROW(serves("ours"), ProtocolError);
    std::ofstream(folder.path() / "cert.pem") << "no certificate";
    const std::string reason = refusal([&] { server.reload(); });
    EXPECT_NE(reason.find("cert.pem"), std::string::npos) << reason;
    EXPECT_TRUE(serves("theirs")) << "what is not usable changes nothing";
}

TEST(Tls, THREAT_2_a_folder_that_lacks_something_is_bad_input_and_names_the_file) {
    for (const char* missing : {"ca.pem", "cert.pem", "key.pem"}) {
        const TemporaryFolder folder;
        fs::copy(Deployments::path() / "ours/charlie", folder.path(), fs::copy_options::recursive);
        fs::remove(folder.path() / missing);
        Party options = options_of("ours", Role::charlie);
        options.folder = folder.path();
        try {
            connect_as({"127.0.0.1", "1"}, options);
            ADD_FAILURE() << missing;
        } catch (const BadInput& error) {
            EXPECT_NE(std::string(error.what()).find(missing), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace slip::testing
