// RAND: keys, streams and the sampler, against the reference and OpenSSL.
// test: alone
// links: slip_masks slip_kernels slip_reference
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>

#include "optimized/kernels/registry.hpp"
#include "optimized/masks/cancellation.hpp"
#include "property_tests/generators/forks.hpp"
#include "property_tests/masks/keystream_fixture.hpp"

namespace slip::testing {
namespace {

using namespace masks;

RC_GTEST_PROP(Keystreams, RAND_1_RAND_2_equal_the_definition, ()) {
    const auto key =
        *rc::gen::container<std::vector<std::uint8_t>>(32, rc::gen::arbitrary<std::uint8_t>());
    const auto purpose = *rc::gen::element(Purpose::mask, Purpose::integrity);
    const auto index = *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                                       rc::gen::element<std::uint64_t>(0, ~std::uint64_t{0}));
    const auto count = *rc::gen::inRange<std::size_t>(0, 150);
    const std::size_t planes = drawn_planes();
    Keystream keys = stream_under(key);
    RC_ASSERT(draw(keys, purpose, index, count, planes) ==
              column_by_definition(key, purpose, index, count, planes));
}

TEST(Keystreams, RAND_1_streams_do_not_depend_on_what_was_drawn_before) {
    const auto key = counting_key();
    Keystream keys = stream_under(key);
    const auto first = draw(keys, Purpose::mask, 7, 5);
    draw(keys, Purpose::integrity, 7, 13);
    draw(keys, Purpose::mask, 8, 1);
    EXPECT_EQ(draw(keys, Purpose::mask, 7, 5), first);
    EXPECT_NE(draw(keys, Purpose::integrity, 7, 5), first);
    EXPECT_NE(draw(keys, Purpose::mask, 8, 5), first);
}

/// No two planes, purposes or indices share a stream: under one prime they would give equal bytes.
TEST(Keystreams, RAND_1_every_plane_has_a_stream_of_its_own) {
    const auto key = counting_key();
    Keystream keys = stream_under(key);
    std::set<Residues> streams;
    for (const Purpose purpose : {Purpose::mask, Purpose::integrity}) {
        for (const std::uint64_t index : {0U, 1U}) {
            const Residues column = draw(keys, purpose, index, 40, 7);
            for (std::size_t p = 0; p < 7; ++p) {
                // What every prime accepts.
                Residues plane;
                for (std::size_t j = 0; j < 40; ++j) {
                    if (column[p * 40 + j] < primes[6]) plane.push_back(column[p * 40 + j]);
                }
                plane.resize(20);
                streams.insert(plane);
            }
        }
    }
    EXPECT_EQ(streams.size(), 2 * 2 * 7U);
}

TEST(Keystreams, RAND_1_a_long_stream_equals_the_definition) {
    const auto key = counting_key();
    Keystream keys = stream_under(key);
    EXPECT_EQ(draw(keys, Purpose::mask, 3, 20000),
              column_by_definition(key, Purpose::mask, 3, 20000));
}

TEST(Keystreams, RAND_1_a_column_is_whole_planes) {
    Keystream keys;
    Residues column(12);
    for (const std::size_t planes : {0U, 5U, 8U}) {
        EXPECT_THROW(keys.draw(Purpose::mask, 0, planes, column), InternalError) << planes;
    }
    EXPECT_NO_THROW(keys.draw(Purpose::mask, 0, 3, column));
}

/// Pearson's statistic of residues below a prime against uniform.
double chi_square(std::span<const std::uint8_t> residues, std::uint8_t prime) {
    std::array<double, 256> counts{};
    for (const auto residue : residues) counts[residue] += 1;
    const double expected = static_cast<double>(residues.size()) / prime;
    double sum = 0;
    for (unsigned r = 0; r < prime; ++r) {
        sum += (counts[r] - expected) * (counts[r] - expected) / expected;
    }
    return sum;
}
/// Exceeded with probability 1e-6 by a uniform sample of at most 250 degrees of freedom: 250 + 4.75
/// sqrt(2 * 250) + 15.
constexpr double chi_square_limit = 372;

TEST(Keystreams, RAND_3_output_is_uniform_below_every_prime) {
    constexpr std::size_t count = 200000;
    const auto key = counting_key(1);
    Keystream keys = stream_under(key);
    Residues column = draw(keys, Purpose::mask, 0, count, 7);
    for (std::size_t p = 0; p < 7; ++p) {
        const auto plane = std::span(column).subspan(p * count, count);
        EXPECT_LT(chi_square(plane, primes[p]), chi_square_limit) << p;
        // The mutant forgets one bit of every sixteenth byte.
        for (std::size_t i = 0; i < count; i += 16) plane[i] &= 127;
        EXPECT_GT(chi_square(plane, primes[p]), chi_square_limit) << p;
    }
}

TEST(Keystreams, RAND_4_every_session_has_a_key_of_its_own) {
    std::set<Residues> streams;
    for (int i = 0; i < 64; ++i) {
        Keystream keys;
        streams.insert(draw(keys, Purpose::mask, 0, 8));
    }
    EXPECT_EQ(streams.size(), 64U);
}

TEST(Keystreams, RAND_4_RAND_6_the_key_lies_on_a_guarded_page_until_it_is_destroyed) {
    if (!std::ifstream("/proc/self/smaps")) GTEST_SKIP() << "this system has no /proc/self/smaps";
    const int before = guarded_pages();
    Keystream keys;
    EXPECT_EQ(guarded_pages(), before + 1);
    keys.destroy();
    EXPECT_EQ(guarded_pages(), before);
    EXPECT_THROW(draw(keys, Purpose::mask, 0, 1), InternalError);
    keys.destroy();  // harmless
}

TEST(Keystreams, RAND_4_a_moved_from_stream_cannot_be_used) {
    Keystream keys;
    Keystream other = std::move(keys);
    EXPECT_THROW(draw(keys, Purpose::mask, 0, 1), InternalError);  // NOLINT: on purpose
    EXPECT_NO_THROW(draw(other, Purpose::mask, 0, 1));
}

/// The model: a stream is drawn under the key in force when it begins, and a key is replaced before
/// the first stream that begins after `limit` blocks.
RC_GTEST_PROP(Keystreams, RAND_5_rekeys_after_the_limit_and_equals_the_definition_under_each_key,
              ()) {
    std::vector<std::uint8_t> three_keys;
    for (const std::uint8_t first : std::array<std::uint8_t, 3>{10, 60, 110}) {
        const auto key = counting_key(first);
        three_keys.insert(three_keys.end(), key.begin(), key.end());
    }
    const auto limit = *rc::gen::inRange<std::uint64_t>(1, 30);
    const auto counts =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 90));
    const std::size_t planes = drawn_planes();
    Keystream keys = stream_under(three_keys, limit);
    std::size_t current = 0;
    std::uint64_t blocks = 0;
    for (std::uint64_t index = 0; index < counts.size(); ++index) {
        Residues expected;
        for (std::size_t p = 0; p < planes; ++p) {
            if (blocks >= limit) {
                ++current;
                blocks = 0;
            }
            if (current == 3) return;
            const Drawn plane = plane_by_definition(std::span(three_keys).subspan(32 * current, 32),
                                                    Purpose::mask, index, counts[index], p);
            expected.insert(expected.end(), plane.residues.begin(), plane.residues.end());
            blocks += (plane.bytes + 15) / 16;
        }
        RC_ASSERT(draw(keys, Purpose::mask, index, counts[index], planes) == expected);
    }
}

TEST(Keystreams, RAND_5_a_key_serves_2_to_32_blocks_unless_a_test_says_otherwise) {
    EXPECT_EQ(Keystream::Options{}.blocks_per_key, std::uint64_t{1} << 32);
}

TEST(Keystreams, RAND_5_the_key_after_the_last_given_one_is_the_operating_systems) {
    const auto key = counting_key();
    Keystream keys = stream_under(key, 1);
    const auto under_given_key = draw(keys, Purpose::mask, 0, 8);
    const auto fresh = draw(keys, Purpose::mask, 0, 8);
    EXPECT_NE(fresh, under_given_key);
    EXPECT_NE(draw(keys, Purpose::mask, 0, 8), fresh);
}

TEST(Keystreams, RAND_6_a_forked_child_cannot_draw_and_the_parent_can) {
    const auto key = counting_key();
    Keystream keys = stream_under(key);
    const auto before = draw(keys, Purpose::mask, 4, 10);
    EXPECT_TRUE(holds_in_a_fork([&] {
        return keys.forked() && throws_internal_error([&] { draw(keys, Purpose::mask, 5, 10); });
    }));
    EXPECT_FALSE(keys.forked());
    EXPECT_EQ(draw(keys, Purpose::mask, 4, 10), before);
}

TEST(Keystreams, RAND_6_a_forked_child_of_a_forked_child_cannot_draw_either) {
    Keystream keys;
    EXPECT_TRUE(holds_in_a_fork([&] {
        return holds_in_a_fork(
            [&] { return throws_internal_error([&] { draw(keys, Purpose::mask, 0, 1); }); });
    }));
}

TEST(Keystreams, RAND_6_a_forked_child_gets_no_mask_that_was_ready_before) {
    const WeightGroups groups({{6, 5}}, Fill::random, 1);
    Keystream keys;
    CancellationStock stock(groups.offloaded, paper_planes, keys, {.depth = 8, .batch = 4});
    stock.wait_until_ready(8);
    EXPECT_TRUE(holds_in_a_fork([&] {
        std::vector<Mask> masks;
        const bool refused = throws_internal_error([&] { stock.take(0, 1, masks); });
        stock.destroy();
        return refused && masks.empty();
    }));
    std::vector<Mask> masks;
    stock.take(0, 8, masks);
    EXPECT_EQ(masks.size(), 8U);
}

RC_GTEST_PROP(Aes, RAND_7_OpenSSL_and_the_reference_agree, ()) {
    const auto key =
        *rc::gen::container<std::vector<std::uint8_t>>(32, rc::gen::arbitrary<std::uint8_t>());
    const auto block =
        *rc::gen::container<std::vector<std::uint8_t>>(16, rc::gen::arbitrary<std::uint8_t>());
    reference::Block plaintext{};
    std::copy(block.begin(), block.end(), plaintext.begin());
    std::array<std::uint8_t, 32> ciphertext{};
    EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
    int written = 0;
    EVP_EncryptInit_ex(context, EVP_aes_256_ecb(), nullptr, key.data(), nullptr);
    EVP_EncryptUpdate(context, ciphertext.data(), &written, block.data(), 16);
    EVP_CIPHER_CTX_free(context);
    const reference::Block expected = reference::Aes(key).encrypt(plaintext);
    RC_ASSERT(std::equal(expected.begin(), expected.end(), ciphertext.begin()));
}

}  // namespace
}  // namespace slip::testing
