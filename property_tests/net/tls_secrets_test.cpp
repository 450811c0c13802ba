// A TLS connection leaves none of its plaintext in freed memory.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "optimized/net/tls_connection.hpp"
#include "optimized/protocol/offline_david.hpp"
#include "property_tests/net/deployment.hpp"
#include "property_tests/protocol/offline_fixture.hpp"
#include "property_tests/protocol/watched_secrets.hpp"

namespace slip::fixture {
namespace {

/// KEY is longer than every frame that follows it, so nothing overwrites it by chance.
TEST(TlsSecrets, OFF_8_SESS_6_no_memory_that_is_freed_holds_the_key_of_a_connection) {
    const Model model(shapes, Fill::random, 1);
    const auto key = counting_key(17);
    const Bytes first = key_frame(model, key);
    const Bytes last = close_frame();
    std::vector<std::uint32_t> words(key.size() / sizeof(std::uint32_t));
    std::memcpy(words.data(), key.data(), key.size());
    const Party offline = options_of("ours", net::Role::offline);
    const Party charlie = options_of("ours", net::Role::charlie);
    const FreedMemory watch(words);
    {
        TlsServer server(
            {"127.0.0.1", "0"}, offline.folder, {.limits = offline.limits},
            [&](Transport& transport) {
                protocol::serve(*protocol::make_offline_session(model.david), transport);
            },
            [](const std::string& line) { ADD_FAILURE() << line; }, ServerRole::offline);
        std::thread serving([&] { server.run(); });
        {
            const auto transport = connect_tls({"127.0.0.1", std::to_string(server.port())},
                                               charlie.folder, charlie.limits, ServerRole::offline);
            transport->send(first);
            std::array<std::byte, protocol::wire::length_bytes + 1> ready{};
            transport->await_frame();
            transport->receive(ready);
            transport->send(last);
        }
        server.stop();
        serving.join();
    }
    EXPECT_EQ(FreedMemory::holding(), 0);
}

/// By default OpenSSL keeps the last record that it has decrypted. A REPLY may stay: David, who
/// sent it, knows it.
TEST(TlsSecrets, OFF_8_SESS_6_openssl_overwrites_what_it_has_delivered) {
    using net::Role;
    const auto overwrites = [](Role ours, Role theirs) {
        auto context = net::make_context(options_of("ours", ours).folder, ours, theirs);
        return (SSL_CTX_get_options(context.native_handle()) & SSL_OP_CLEANSE_PLAINTEXT) != 0;
    };
    EXPECT_TRUE(overwrites(Role::charlie, Role::offline));
    EXPECT_TRUE(overwrites(Role::offline, Role::charlie));
    EXPECT_TRUE(overwrites(Role::david, Role::charlie));
    EXPECT_FALSE(overwrites(Role::charlie, Role::david));
}

}  // namespace
}  // namespace slip::fixture
