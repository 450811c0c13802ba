// David's end of a TLS connection leaves none of its plaintext in freed memory.
// test: threads, watched
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <array>
#include <thread>
#include <vector>

#include "optimized/net/tls_connection.hpp"
#include "property_tests/net/deployment.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::testing {
namespace {

/// One session of one APPLY with `residues` residues, which is longer than every frame that follows
/// it, so that nothing overwrites it by chance.
void expect_nothing_left_of(std::size_t residues) {
    const Model model({{1, residues}}, Fill::random, 1);
    Random random(2);
    const Residues masked = random_residues(1, residues, paper_planes, random);
    const Bytes hello = hello_for(model);
    const Bytes apply = message(FrameType::apply, {0, 0, 1}, masked);
    const Bytes last = close_frame();
    const Party david = options_of("ours", net::Role::david);
    const Party charlie = options_of("ours", net::Role::charlie);
    const FreedMemory watch(masked);
    {
        TlsServer server(
            {"127.0.0.1", "0"}, david.folder, {.max_sessions = 1, .limits = david.limits},
            [&](Transport& transport) {
                protocol::DavidSession session(model.david);
                protocol::serve(session, transport);
            },
            [](const std::string& line) { ADD_FAILURE() << line; });
        std::thread serving([&] { server.run(); });
        {
            const auto transport =
                connect_as({"127.0.0.1", std::to_string(server.port())}, charlie);
            std::array<std::byte, protocol::wire::length_bytes + 1> ready{};
            transport->send(hello);
            transport->receive(ready);
            std::array<std::byte, protocol::wire::columns_header_bytes + paper_planes> reply{};
            transport->send(apply);
            transport->receive(reply);
            transport->send(last);
        }
        server.stop();
        serving.join();
    }
    EXPECT_EQ(FreedMemory::holding(), 0) << residues;
    { const Residues copy(masked); }
    EXPECT_EQ(FreedMemory::holding(), 1) << "it would have been seen";
}

/// A short frame, which is read with its beginning, and one that is not.
TEST(TlsSecrets, SESS_6_no_memory_that_is_freed_holds_what_charlie_has_sent) {
    expect_nothing_left_of(10);
    expect_nothing_left_of(40);
}

/// By default OpenSSL keeps the last record that it has decrypted. A REPLY may stay: David, who
/// sent it, knows it.
TEST(TlsSecrets, SESS_6_davids_openssl_overwrites_what_it_has_delivered) {
    using net::Role;
    const auto overwrites = [](Role ours, Role theirs) {
        auto context = net::make_context(options_of("ours", ours).folder, ours, theirs);
        return (SSL_CTX_get_options(context.native_handle()) & SSL_OP_CLEANSE_PLAINTEXT) != 0;
    };
    EXPECT_TRUE(overwrites(Role::david, Role::charlie));
    EXPECT_FALSE(overwrites(Role::charlie, Role::david));
}

}  // namespace
}  // namespace slip::testing
