// David as a server: addresses, peers that misbehave, and several at once.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

<<<<<<< HEAD
#include "property_tests/net/deployment.hpp"
=======
#include "optimized/base/parameters.hpp"
#include "optimized/net/certificates.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "slip/tls.hpp"
>>>>>>> main

namespace slip::fixture {
namespace {

<<<<<<< HEAD
=======
using namespace std::chrono_literals;
namespace fs = std::filesystem;

/// A folder that goes away with the test.
class TemporaryFolder {
public:
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "slip-net-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { fs::remove_all(path_); }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

/// Two deployments, made once: ours, and another with an authority of its own.
struct Deployments {
    Deployments() {
        make_keys(folder.path() / "ours");
        make_keys(folder.path() / "theirs");
        make_keys(folder.path() / "expired",
                  {.begins = -480h, .authority_ends = 24h, .leaf_ends = -24h});
        make_keys(folder.path() / "future",
                  {.begins = 24h, .authority_ends = 480h, .leaf_ends = 480h});
    }
    TemporaryFolder folder;

    static const fs::path& path() {
        static const Deployments deployments;
        return deployments.folder.path();
    }
};

/// A party's folder, and how long it waits.
struct Party {
    fs::path folder;
    TimeLimits limits;
};

Party options_of(const std::string& deployment, Role role) {
    Party options;
    options.folder = Deployments::path() / deployment / name_of(role);
    options.limits.timeout = 5s;
    options.limits.patience = 5s;
    return options;
}

std::unique_ptr<Transport> connect_as(const Endpoint& endpoint, const Party& charlie) {
    return connect_tls(endpoint, charlie.folder, charlie.limits);
}

/// A David on a free port, served by a thread of its own.
class RunningServer {
public:
    explicit RunningServer(const Model& model, const Party& tls = options_of("ours", Role::david),
                           std::size_t max_sessions = 8)
        : model_(model),
          server_(
              {"127.0.0.1", "0"}, tls.folder, {.max_sessions = max_sessions, .limits = tls.limits},
              [this](Transport& transport) {
                  const auto session = make_david_session(model_.david);
                  serve(*session, transport);
                  ++finished;
              },
              [this](const std::string& line) {
                  const std::lock_guard lock(mutex_);
                  lines_.push_back(line);
                  reported_.notify_all();
              }),
          thread_([this] { server_.run(); }) {}
    ~RunningServer() { stop(); }

    void stop() {
        server_.stop();
        if (thread_.joinable()) thread_.join();
    }
    Endpoint endpoint() const { return {"127.0.0.1", std::to_string(server_.port())}; }

    /// Waits until a reported line contains `text`.
    bool reports(const std::string& text) {
        std::unique_lock lock(mutex_);
        return reported_.wait_for(lock, 5s, [&] {
            return std::any_of(lines_.begin(), lines_.end(), [&](const std::string& line) {
                return line.find(text) != std::string::npos;
            });
        });
    }
    std::vector<std::string> lines() {
        const std::lock_guard lock(mutex_);
        return lines_;
    }

    std::atomic<int> finished{0};

private:
    const Model& model_;
    std::mutex mutex_;
    std::condition_variable reported_;
    std::vector<std::string> lines_;
    TlsServer server_;
    std::thread thread_;
};

/// Charlie with a connection of his own.
struct Client {
    Client(const Model& model, const Endpoint& endpoint,
           const Party& tls = options_of("ours", Role::charlie))
        : transport(connect_as(endpoint, tls)),
          charlie(model.weights(), model.david.digest, *transport, pool_of(4)) {}
    std::unique_ptr<Transport> transport;
    CharlieSession<P31> charlie;
};

bool works(Client& client, const Model& model) {
    return gives_exact_products(client.charlie, model, 2);
}

bool serves(RunningServer& server, const Model& model) {
    Client client(model, server.endpoint());
    return works(client, model);
}

/// The same, once the server has noticed that others are gone.
bool serves_soon(RunningServer& server, const Model& model) {
    for (int i = 0; i < 200; ++i) {
        try {
            return serves(server, model);
        } catch (const ProtocolError&) {
            std::this_thread::sleep_for(20ms);
        }
    }
    return false;
}

/// A TCP connection that speaks whatever the test makes it speak.
class PlainSocket {
public:
    explicit PlainSocket(const Endpoint& endpoint)
        : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(endpoint.port)));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval patience{10, 0};
        ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        connected =
            ::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    }
    PlainSocket(const PlainSocket&) = delete;
    PlainSocket& operator=(const PlainSocket&) = delete;
    ~PlainSocket() { ::close(descriptor_); }

    void send(const std::string& text) {
        EXPECT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL),
                  static_cast<ssize_t>(text.size()));
    }
    /// Whether the server ends the connection within ten seconds.
    bool is_ended() {
        char buffer[4096];
        for (;;) {
            const ssize_t size = ::recv(descriptor_, buffer, sizeof buffer, 0);
            if (size == 0 || (size < 0 && errno == ECONNRESET)) return true;
            if (size < 0) return false;
        }
    }
    bool connected = false;

private:
    int descriptor_;
};

const std::vector<Shape> shapes = {{9, 5}, {3, 7}};

// ---- certificates

mode_t mode_of(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
}

struct X509Deleter {
    void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, X509Deleter>;

Certificate read_certificate(const fs::path& path) {
    std::FILE* file = std::fopen(path.c_str(), "r");
    Certificate certificate(PEM_read_X509(file, nullptr, nullptr, nullptr));
    std::fclose(file);
    return certificate;
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Keys, THREAT_2_folders_are_0700_and_keys_0600) {
    const fs::path out = Deployments::path() / "ours";
    EXPECT_EQ(mode_of(out), 0700U);
    for (const char* party : {"ca", "charlie", "david"}) {
        EXPECT_EQ(mode_of(out / party), 0700U);
        EXPECT_EQ(mode_of(out / party / "key.pem"), 0600U);
    }
}

TEST(Keys, SESS_7_each_party_gets_its_own_folder_only) {
    const fs::path out = Deployments::path() / "ours";
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(out)) {
        names.insert(fs::relative(entry.path(), out).string());
    }
    EXPECT_EQ(names,
              (std::set<std::string>{"ca", "ca/cert.pem", "ca/key.pem", "charlie", "charlie/ca.pem",
                                     "charlie/cert.pem", "charlie/key.pem", "david", "david/ca.pem",
                                     "david/cert.pem", "david/key.pem"}));
    EXPECT_EQ(text_of(out / "charlie/ca.pem"), text_of(out / "ca/cert.pem"));
    EXPECT_EQ(text_of(out / "david/ca.pem"), text_of(out / "ca/cert.pem"));
    EXPECT_NE(text_of(out / "david/key.pem"), text_of(out / "charlie/key.pem"));
    EXPECT_NE(text_of(out / "ca/key.pem"), text_of(Deployments::path() / "theirs/ca/key.pem"));
}

TEST(Keys, SESS_7_certificates_say_what_they_are_for) {
    const fs::path out = Deployments::path() / "ours";
    const Certificate authority = read_certificate(out / "ca/cert.pem");
    const Certificate charlie = read_certificate(out / "charlie/cert.pem");
    const Certificate david = read_certificate(out / "david/cert.pem");
    EXPECT_EQ(X509_check_ca(authority.get()), 1);
    EXPECT_EQ(X509_check_ca(charlie.get()), 0);
    EXPECT_EQ(X509_verify(david.get(), X509_get0_pubkey(authority.get())), 1);
    EXPECT_EQ(X509_verify(charlie.get(), X509_get0_pubkey(authority.get())), 1);
    EXPECT_EQ(X509_check_purpose(david.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
    EXPECT_EQ(X509_check_purpose(david.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
    EXPECT_EQ(X509_check_purpose(charlie.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
    EXPECT_EQ(X509_check_purpose(charlie.get(), X509_PURPOSE_SSL_SERVER, 0), 0);
    EXPECT_TRUE(has_role(david.get(), Role::david));
    EXPECT_FALSE(has_role(david.get(), Role::charlie));
    EXPECT_TRUE(has_role(charlie.get(), Role::charlie));
    EXPECT_FALSE(has_role(authority.get(), Role::david));
    EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(david.get()),
                               X509_get0_serialNumber(charlie.get())),
              0);
}

TEST(Keys, SESS_7_a_role_needs_both_names) {
    const Certificate certificate =
        read_certificate(Deployments::path() / "ours" / "david" / "cert.pem");
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("charlie"), -1, -1, 0);
    EXPECT_FALSE(has_role(certificate.get(), Role::david)) << "two common names";
    X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
    EXPECT_FALSE(has_role(certificate.get(), Role::david)) << "common name charlie";
    EXPECT_FALSE(has_role(certificate.get(), Role::charlie)) << "alternative name david";
}

TEST(Keys, THREAT_2_an_existing_folder_is_left_alone) {
    const TemporaryFolder folder;
    const fs::path out = folder.path() / "keys";
    make_keys(out);
    const std::string before = text_of(out / "ca/key.pem");
    EXPECT_THROW(make_keys(out), BadInput);
    EXPECT_EQ(text_of(out / "ca/key.pem"), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1)
        << "nothing half-written stays";
}

>>>>>>> main
// ---- addresses

TEST(Endpoints, are_parsed_and_bad_ones_name_the_flag) {
    const auto same = [](const std::string& text, const std::string& host,
                         const std::string& port) {
        const Endpoint endpoint = parse_endpoint(text, "--david");
        return endpoint.host == host && endpoint.port == port;
    };
    EXPECT_TRUE(same("127.0.0.1:4433", "127.0.0.1", "4433"));
    EXPECT_TRUE(same("david.example:0", "david.example", "0"));
    EXPECT_TRUE(same("[::1]:65535", "::1", "65535"));
    EXPECT_EQ(describe(parse_endpoint("[::1]:65535", "--david")), "[::1]:65535");
    EXPECT_EQ(describe(parse_endpoint("127.0.0.1:1", "--david")), "127.0.0.1:1");
    for (const char* text : {"", ":", "host", "host:", ":80", "host:65536", "host:-1", "host:8o",
                             "host:123456", "::1:80", "[::1]", "[::1]80", "[]:80", "host: 80"}) {
        try {
            parse_endpoint(text, "--david");
            ADD_FAILURE() << "\"" << text << "\" was accepted";
        } catch (const BadInput& error) {
            EXPECT_NE(std::string(error.what()).find("--david"), std::string::npos);
        }
    }
}

TEST(Endpoints, an_address_that_is_taken_is_bad_input) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    EXPECT_THROW(TlsServer(server.endpoint(), Deployments::path() / "ours/david", {}, {}, {}),
                 BadInput);
}

TEST(Endpoints, nobody_listening_is_a_protocol_error_that_names_the_endpoint) {
    Endpoint endpoint;
    {
        const Model model(shapes, Fill::random, 1);
        RunningServer server(model);
        endpoint = server.endpoint();
    }
    try {
        connect_as(endpoint, options_of("ours", Role::charlie));
        FAIL();
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("127.0.0.1:" + endpoint.port), std::string::npos);
    }
}

TEST(Endpoints, INTEG_7_a_connection_names_the_endpoint_that_it_was_made_to) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const Endpoint endpoint{"localhost", server.endpoint().port};
    EXPECT_EQ(connect_as(endpoint, options_of("ours", Role::charlie))->peer_name(),
              "localhost:" + endpoint.port);
}

<<<<<<< HEAD
=======
// ---- mutual authentication

TEST(Tls, SESS_7_a_session_with_mutual_authentication_works) {
    const Model model(shapes, Kind::random, 1);
    RunningServer server(model);
    EXPECT_TRUE(serves(server, model));
    EXPECT_TRUE(serves(server, model));
    server.stop();
    EXPECT_EQ(server.finished, 2);
    EXPECT_TRUE(server.lines().empty());
}

TEST(Tls, PARAM_1_a_session_in_P61_works) {
    const Model model(shapes, Kind::random, 1, Profile::p61);
    RunningServer server(model);
    {
        const auto transport = connect_as(server.endpoint(), options_of("ours", Role::charlie));
        CharlieSession<P61> charlie(model.weights(), model.david.digest, *transport, pool_of(4));
        EXPECT_TRUE(gives_exact_products(charlie, model, 2));
    }
    server.stop();
    EXPECT_EQ(server.finished, 1);
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
    const Model model(shapes, Kind::random, 1);
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
    const Model model(shapes, Kind::random, 1);
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
bool raw_client_is_answered(const Endpoint& endpoint, const fs::path& folder, int version) {
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
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
    const Model model(shapes, Kind::random, 1);
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

TEST(Tls, SESS_7_certificates_out_of_their_time_are_refused) {
    const Model model(shapes, Kind::random, 1);
    for (const char* deployment : {"expired", "future"}) {
        RunningServer server(model, options_of(deployment, Role::david));
        EXPECT_THROW(Client(model, server.endpoint(), options_of(deployment, Role::charlie)),
                     ProtocolError);
        EXPECT_FALSE(raw_client_is_answered(
            server.endpoint(), Deployments::path() / deployment / "charlie", TLS1_3_VERSION));
        EXPECT_TRUE(server.reports("certificate"));
    }
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

>>>>>>> main
// ---- peers that misbehave

TEST(Server, SESS_7_a_plaintext_client_hurts_nobody) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    PlainSocket plain(server.endpoint());
    plain.send("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(plain.is_ended());
    EXPECT_TRUE(server.reports("handshake"));
    EXPECT_TRUE(serves(server, model));
}

TEST(Server, a_peer_that_hangs_in_the_handshake_is_cut_off) {
<<<<<<< HEAD
    const Model model(shapes, Fill::random, 1);
    TlsOptions options = options_of("ours", Role::david);
=======
    const Model model(shapes, Kind::random, 1);
    Party options = options_of("ours", Role::david);
>>>>>>> main
    options.limits.timeout = 200ms;
    RunningServer server(model, options);
    PlainSocket silent(server.endpoint());
    EXPECT_TRUE(silent.is_ended());
    EXPECT_TRUE(server.reports("in time"));
    // A byte now and then does not help him: the limit is for the handshake as a whole.
    PlainSocket slow(server.endpoint());
    std::thread drip([&] {
        const std::string start("\x16\x03\x01\x02\x00\x01\x00", 7);
        for (const char byte : start) {
            slow.send(std::string(1, byte));
            std::this_thread::sleep_for(20ms);
        }
    });
    EXPECT_TRUE(slow.is_ended());
    drip.join();
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(Server, SESS_4_a_peer_that_hangs_within_a_frame_is_cut_off_and_one_that_thinks_is_not) {
<<<<<<< HEAD
    const Model model(shapes, Fill::random, 1);
    TlsOptions options = options_of("ours", Role::david);
=======
    const Model model(shapes, Kind::random, 1);
    Party options = options_of("ours", Role::david);
>>>>>>> main
    options.limits.timeout = 800ms;
    RunningServer server(model, options);
    Client thinking(model, server.endpoint());
    std::this_thread::sleep_for(1000ms);
    EXPECT_TRUE(works(thinking, model));

    const auto hanging = connect_as(server.endpoint(), options_of("ours", Role::charlie));
    const Bytes hello =
        wire::encode_hello({parameters::protocol_version, Profile::p31, model.david.digest});
    hanging->send(std::span(hello).first(10));
    std::array<std::byte, 1> nothing{};
    EXPECT_THROW(hanging->receive(nothing), ProtocolError);
    EXPECT_TRUE(server.reports("in time"));
    EXPECT_TRUE(works(thinking, model));
}

TEST(Server, SESS_4_a_peer_that_thinks_too_long_is_cut_off) {
<<<<<<< HEAD
    const Model model(shapes, Fill::random, 1);
    TlsOptions options = options_of("ours", Role::david);
=======
    const Model model(shapes, Kind::random, 1);
    Party options = options_of("ours", Role::david);
>>>>>>> main
    options.limits.patience = 500ms;
    RunningServer server(model, options);
    Client client(model, server.endpoint());
    EXPECT_TRUE(server.reports("in time"));
    EXPECT_THROW(works(client, model), ProtocolError);
}

TEST(Client, SESS_4_a_david_who_does_not_answer_is_given_up) {
    const Model model(shapes, Fill::random, 1);
    std::atomic<bool> go{false};
    TlsServer server(
        {"127.0.0.1", "0"}, Deployments::path() / "ours/david", {.max_sessions = 4},
        [&](Transport&) {
            while (!go) std::this_thread::sleep_for(1ms);
        },
        [](const std::string&) {});
    std::thread thread([&] { server.run(); });
    Party options = options_of("ours", Role::charlie);
    options.limits.patience = 100ms;
    EXPECT_THROW(Client(model, {"127.0.0.1", std::to_string(server.port())}, options),
                 ProtocolError);
    go = true;
    server.stop();
    thread.join();
}

TEST(Server, WIRE_9_a_malformed_frame_is_refused_and_the_refusal_arrives) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    const auto transport = connect_as(server.endpoint(), options_of("ours", Role::charlie));
    // Much more than David reads and the system buffers: sending it all, and reading the answer,
    // needs a David who does not cut the connection at once.
    const Bytes nonsense(std::size_t{1} << 24, std::byte{0x55});
    transport->send(nonsense);
    Bytes answer(6);
    transport->receive(answer);
    EXPECT_EQ(answer, wire::encode_refuse(wire::Refusal::malformed));
    EXPECT_THROW(transport->receive(std::span(answer).first(1)), ProtocolError);
}

TEST(Server, SESS_4_one_killed_within_a_frame_hurts_no_other) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 2);
    Client one(model, server.endpoint());
    for (int i = 0; i < 3; ++i) {  // more often than there are places
        const auto killed = connect_as(server.endpoint(), options_of("ours", Role::charlie));
        const Bytes hello =
            wire::encode_hello({parameters::protocol_version, Profile::p31, model.david.digest});
        killed->send(std::span(hello).first(20));
    }
    EXPECT_TRUE(server.reports("ended the connection"));
    EXPECT_TRUE(works(one, model));
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(Server, WIRE_7_sessions_beyond_the_limit_are_told_that_david_is_busy) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 2);
    auto one = std::make_unique<Client>(model, server.endpoint());
    Client other(model, server.endpoint());
    try {
        Client third(model, server.endpoint());
        ADD_FAILURE() << "a third session was opened";
    } catch (const ProtocolError& error) {
        EXPECT_NE(std::string(error.what()).find("busy"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(works(*one, model));
    EXPECT_TRUE(works(other, model));
    one.reset();
    EXPECT_TRUE(serves_soon(server, model)) << "a place is free again";
}

TEST(Server, connections_far_beyond_the_limit_are_closed_at_once) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model, options_of("ours", Role::david), 1);
    std::vector<std::unique_ptr<PlainSocket>> sockets;
    for (int i = 0; i < 4; ++i) sockets.push_back(std::make_unique<PlainSocket>(server.endpoint()));
    EXPECT_TRUE(server.reports("too many connections"));
    sockets.clear();
    EXPECT_TRUE(serves_soon(server, model));
}

TEST(Server, SESS_6_several_sessions_at_once) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    std::atomic<int> good{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            Client client(model, server.endpoint());
            for (int repeat = 0; repeat < 10; ++repeat) good += works(client, model);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, 40);
}

TEST(Server, stop_ends_sessions_that_hang) {
    const Model model(shapes, Fill::random, 1);
    RunningServer server(model);
    PlainSocket silent(server.endpoint());
    Client client(model, server.endpoint());
    EXPECT_TRUE(works(client, model));
    const auto start = std::chrono::steady_clock::now();
    server.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, generous / 2);
    EXPECT_THROW(works(client, model), ProtocolError);
    EXPECT_TRUE(silent.is_ended());
    EXPECT_FALSE(PlainSocket(server.endpoint()).connected);
}

TEST(Server, stop_before_run_and_twice_is_harmless) {
    TlsServer server(
        {"127.0.0.1", "0"}, Deployments::path() / "ours/david", {}, [](Transport&) {},
        [](const std::string&) {});
    server.stop();
    server.run();
    server.stop();
}

/// A message of several TLS records, up and down.
TEST(Tls, PARAM_3_a_large_message_arrives_whole) {
    const Model model({{40, 300}}, Fill::random, 1);
    RunningServer server(model);
    Client client(model, server.endpoint());
    Random random(1);
    const std::size_t b = 2000;
    const std::int16_t most = largest_activation(model.matrices[0]);
    const Columns columns(
        b, 300,
        fill<std::int16_t>(Fill::random, b * 300, static_cast<std::int16_t>(-most), most, random));
    const auto over_tls = round(client.charlie, 0, columns, 40);
    Connection in_process(model);
    EXPECT_EQ(over_tls, round(in_process.charlie, 0, columns, 40));
}

}  // namespace
}  // namespace slip::fixture
