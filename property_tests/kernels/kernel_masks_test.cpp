// The keystream, the sampler, masks and unmasking on every backend, against plain arithmetic and
// OpenSSL's AES.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "property_tests/generators/sanitizers.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"
#include "property_tests/kernels/left_on_the_stack.hpp"

namespace slip::testing {
namespace {

using Key = std::array<std::uint8_t, 32>;
using RoundKeys = std::array<std::uint8_t, 240>;

/// The backends that have AES instructions.
template <class Body>
void for_each_aes_backend(const Body& body) {
    for_each_backend([&](const Backend& backend) {
        if (backend.aes256_schedule != nullptr) body(backend);
    });
}

RoundKeys round_keys_of(const Backend& backend, const Key& key) {
    RoundKeys round_keys;
    backend.aes256_schedule(key.data(), round_keys.data());
    return round_keys;
}

/// Drawn within a property.
Key drawn_key() {
    const auto bytes = *any_list<std::uint8_t>(32, 0, 255).as("key");
    Key key;
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

void append_big_endian(Bytes& bytes, std::uint64_t value, unsigned size) {
    while (size-- > 0) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * size)));
}

/// RAND-1: the bytes of `blocks` blocks of a stream, by OpenSSL's AES of their counter blocks.
Bytes stream_of(const Key& key, std::uint32_t field, std::uint64_t index, std::uint32_t first_block,
                std::size_t blocks) {
    Bytes counters;
    for (std::size_t i = 0; i < blocks; ++i) {
        append_big_endian(counters, field, 4);
        append_big_endian(counters, index, 8);
        append_big_endian(counters, first_block + i, 4);
    }
    Bytes stream(counters.size());
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(
        EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
    int size = 0;
    EXPECT_EQ(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ecb(), nullptr, key.data(), nullptr), 1);
    EXPECT_EQ(EVP_EncryptUpdate(cipher.get(), stream.data(), &size, counters.data(),
                                static_cast<int>(counters.size())),
              1);
    EXPECT_EQ(static_cast<std::size_t>(size), stream.size());
    return stream;
}

/// RAND-2: the bytes below the prime.
Bytes accepted(const Bytes& stream, std::uint8_t prime) {
    Bytes kept;
    for (const std::uint8_t byte : stream) {
        if (byte < prime) kept.push_back(byte);
    }
    return kept;
}

/// What a backend makes of the blocks; it may write no further than their bytes reach.
Bytes expand(const Backend& backend, const RoundKeys& round_keys, std::uint32_t field,
             std::uint64_t index, std::uint32_t first_block, std::size_t blocks,
             std::uint8_t prime) {
    Bytes out(blocks * 16 + 1, sentinel);
    const std::size_t count =
        backend.expand(round_keys.data(), field, index, first_block, blocks, prime, out.data());
    EXPECT_EQ(out.back(), sentinel);
    EXPECT_LE(count, blocks * 16);
    out.resize(count);
    return out;
}

rc::Gen<std::uint8_t> any_prime() { return rc::gen::elementOf(primes); }

// --- AES -----------------------------------------------------------------------------------------

/// NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt): its first counter block is one of RAND-1.
TEST(Aes, RAND_7_RAND_1_the_published_vector_of_counter_mode) {
    const Key key = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                     0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                     0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
    const Bytes published = {0x0b, 0xdf, 0x7d, 0xf1, 0x59, 0x17, 0x16, 0x33,
                             0x5e, 0x9a, 0x8b, 0x15, 0xc8, 0x60, 0xc5, 0x02};
    for_each_aes_backend([&](const Backend& backend) {
        for (const std::uint8_t prime : primes) {
            EXPECT_EQ(expand(backend, round_keys_of(backend, key), 0xf0f1f2f3, 0xf4f5f6f7f8f9fafb,
                             0xfcfdfeff, 1, prime),
                      accepted(published, prime));
        }
    });
}

/// FIPS 197, A.3: the first of what the key expansion adds, and the last words.
TEST(Aes, RAND_7_the_published_key_expansion) {
    const Key key = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                     0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                     0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
    for_each_aes_backend([&](const Backend& backend) {
        const RoundKeys round_keys = round_keys_of(backend, key);
        EXPECT_TRUE(std::equal(key.begin(), key.end(), round_keys.begin()));
        const Bytes first = {0x9b, 0xa3, 0x54, 0x11}, last = {0x70, 0x6c, 0x63, 0x1e};
        EXPECT_TRUE(std::equal(first.begin(), first.end(), round_keys.begin() + 32));
        EXPECT_TRUE(std::equal(last.begin(), last.end(), round_keys.end() - 4));
    });
}

// --- residues ------------------------------------------------------------------------------------

RC_GTEST_PROP(Masks, RAND_1_RAND_2_residues_of_any_blocks, ()) {
    const auto index = *rc::gen::arbitrary<std::uint64_t>().as("index");
    const auto field = *rc::gen::arbitrary<std::uint32_t>().as("field");
    const auto blocks = *any_size(0, 79).as("blocks");
    const auto prime = *any_prime().as("prime");
    const Key key = drawn_key();
    // Near the end of the counter's range, where a carry would reach the index.
    const auto last = static_cast<std::uint32_t>(0 - blocks);
    const auto first = *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 100), rc::gen::just(last))
                            .as("first block");
    const Bytes expected = accepted(stream_of(key, field, index, first, blocks), prime);
    for_each_aes_backend([&](const Backend& backend) {
        RC_ASSERT(expand(backend, round_keys_of(backend, key), field, index, first, blocks,
                         prime) == expected);
    });
}

/// Another last round key moves every block of a stream by the same difference, which is chosen
/// here so that a given byte becomes the prime, or one less.
TEST(Masks, RAND_2_the_least_rejected_byte_and_the_largest_residue_at_every_place) {
    constexpr std::size_t blocks = 45;
    const Key key{7, 9, 16};
    const Bytes stream = stream_of(key, 1, 7, 0, blocks);
    for (std::size_t at = 0; at < stream.size(); ++at) {
        const std::uint8_t prime = primes[at % primes.size()];
        for (const bool is_rejected : {true, false}) {
            const auto wanted = static_cast<std::uint8_t>(is_rejected ? prime : prime - 1);
            const auto difference = static_cast<std::uint8_t>(stream[at] ^ wanted);
            Bytes moved = stream;
            for (std::size_t i = at % 16; i < moved.size(); i += 16) moved[i] ^= difference;
            ASSERT_EQ(moved[at], wanted);
            for_each_aes_backend([&](const Backend& backend) {
                RoundKeys round_keys = round_keys_of(backend, key);
                round_keys[224 + at % 16] ^= difference;
                EXPECT_EQ(expand(backend, round_keys, 1, 7, 0, blocks, prime),
                          accepted(moved, prime))
                    << at;
            });
        }
    }
}

/// Neither words nor residues stay behind of fewer blocks than are in flight at a time.
TEST(Masks, MASK_6_a_short_stream_leaves_no_residue_on_the_stack) {
    if (sanitized()) GTEST_SKIP() << "a sanitizer's build has other stacks";
    constexpr std::size_t blocks = 5;
    const Key key{1, 2, 3};
    for_each_aes_backend([&](const Backend& backend) {
        const RoundKeys round_keys = round_keys_of(backend, key);
        Bytes out(blocks * 16);
        std::size_t count = 0;
        const auto stack = left_on_the_stack(
            [&] { count = backend.expand(round_keys.data(), 1, 7, 0, blocks, 251, out.data()); });
        ASSERT_EQ(Bytes(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(count)),
                  accepted(stream_of(key, 1, 7, 0, blocks), 251));
        for (std::size_t at = 0; at + 8 <= count; ++at) {
            EXPECT_FALSE(hold(stack, Bytes(out.begin() + static_cast<std::ptrdiff_t>(at),
                                           out.begin() + static_cast<std::ptrdiff_t>(at + 8))))
                << at;
        }
    });
}

RC_GTEST_PROP(Masks, RAND_2_the_sampler_accepts_bytes_below_the_prime, ()) {
    const auto count = *any_size(0, 200).as("count");
    const auto prime = *any_prime().as("prime");
    const Bytes bytes =
        *any_list<std::uint8_t>(count, 0, 255,
                                {0, prime, 255, static_cast<std::uint8_t>(prime - 1), 128})
             .as("bytes");
    const Bytes expected = accepted(bytes, prime);
    for_each_backend([&](const Backend& backend) {
        Bytes out(count + 1, sentinel);
        const std::size_t number = backend.sample(bytes.data(), count, prime, out.data());
        RC_ASSERT(out.back() == sentinel);
        out.resize(number);
        RC_ASSERT(out == expected);
        Bytes in_place = bytes;
        in_place.resize(backend.sample(in_place.data(), count, prime, in_place.data()));
        RC_ASSERT(in_place == expected);
    });
}

/// Every value of a byte.
TEST(Masks, RAND_2_the_sampler_on_every_byte) {
    Bytes all;
    for (unsigned byte = 0; byte < 256; ++byte) all.push_back(static_cast<std::uint8_t>(byte));
    for (const std::uint8_t prime : primes) {
        for_each_backend([&](const Backend& backend) {
            Bytes out(256);
            out.resize(backend.sample(all.data(), all.size(), prime, out.data()));
            EXPECT_EQ(out, Bytes(all.begin(), all.begin() + prime));
        });
    }
}

/// The largest residue everywhere, and one byte that is none, at every place.
TEST(Masks, WIRE_8_a_byte_that_is_no_residue_at_every_place) {
    for (const std::uint8_t prime : primes) {
        for (std::size_t n = 0; n < 140; ++n) {
            Bytes bytes(n, static_cast<std::uint8_t>(prime - 1));
            for_each_backend([&](const Backend& backend) {
                EXPECT_TRUE(backend.below(bytes.data(), n, prime)) << n;
            });
            for (std::size_t at = 0; at < n; ++at) {
                for (const std::uint8_t bad : {prime, std::uint8_t{255}}) {
                    bytes[at] = bad;
                    for_each_backend([&](const Backend& backend) {
                        EXPECT_FALSE(backend.below(bytes.data(), n, prime)) << n << ' ' << at;
                    });
                    bytes[at] = static_cast<std::uint8_t>(prime - 1);
                }
            }
        }
    }
}

// --- masks ---------------------------------------------------------------------------------------

/// MASK-1 as it stands.
Bytes masked_of(const std::vector<std::int16_t>& q, const Bytes& mask, std::size_t planes) {
    Bytes masked;
    for (std::size_t i = 0; i < mask.size(); ++i) {
        masked.push_back(residue_of(q[i % q.size()] + mask[i], i / q.size()));
    }
    EXPECT_EQ(masked.size(), q.size() * planes);
    return masked;
}

void expect_masked(const std::vector<std::int16_t>& q, const Bytes& mask, std::size_t planes) {
    const Bytes expected = masked_of(q, mask, planes);
    for_each_backend([&](const Backend& backend) {
        Bytes masked(mask.size() + 1, sentinel);
        backend.mask(q.data(), mask.data(), q.size(), planes, masked.data());
        EXPECT_EQ(masked.back(), sentinel);
        masked.pop_back();
        EXPECT_EQ(masked, expected) << q.size() << ", planes = " << planes;
    });
}

/// MASK-4: of v + cancellation, with v in -(L - 1) / 2 .. (L - 1) / 2, the lift is v.
void expect_unmasked(const std::vector<std::int64_t>& v, const Bytes& cancellation,
                     std::size_t planes) {
    Bytes y(cancellation.size());
    for (std::size_t p = 0; p < planes; ++p) {
        for (std::size_t i = 0; i < v.size(); ++i) {
            const std::size_t at = p * v.size() + i;
            y[at] = residue_of(residue_of(v[i], p) + cancellation[at], p);
        }
    }
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int64_t> out(v.size() + 1, 0x5a5a);
        backend.unmask(y.data(), cancellation.data(), v.size(), planes, out.data());
        EXPECT_EQ(out.back(), 0x5a5a);
        out.pop_back();
        EXPECT_EQ(out, v) << v.size() << ", planes = " << planes;
    });
}

std::int64_t half_of(std::size_t planes) {
    return static_cast<std::int64_t>((base::parameters::modulus(planes) - 1) / 2);
}

TEST(Masks, MASK_1_every_activation_in_every_plane) {
    std::mt19937_64 random(1);
    std::vector<std::int16_t> q;
    for (int value = -32768; value <= 32767; ++value) q.push_back(static_cast<std::int16_t>(value));
    for (const Fill kind : {Fill::zeros, Fill::largest, Fill::random}) {
        expect_masked(q, residues(kind, 1, q.size(), most_planes, random), most_planes);
    }
}

TEST(Masks, MASK_1_MASK_4_every_length_and_number_of_planes) {
    std::mt19937_64 random(2);
    for (std::size_t n = 1; n <= 70; ++n) {
        for (std::size_t planes = 1; planes <= most_planes; ++planes) {
            const Bytes r = residues(Fill::random, 1, n, planes, random);
            const std::int64_t half = half_of(planes);
            expect_masked(activations(Fill::random, n, random), r, planes);
            expect_unmasked(fill<std::int64_t>(Fill::random, n, -half, half, random), r, planes);
        }
    }
}

TEST(Masks, MASK_1_MASK_4_an_empty_column) {
    for_each_backend([&](const Backend& backend) {
        std::uint8_t byte = sentinel;
        std::int64_t number = 7;
        backend.mask(nullptr, nullptr, 0, 4, &byte);
        backend.unmask(nullptr, nullptr, 0, 4, &number);
        EXPECT_EQ(byte, sentinel);
        EXPECT_EQ(number, 7);
    });
}

RC_GTEST_PROP(Masks, MASK_4_any_residues, ()) {
    const auto planes = *any_size(1, most_planes).as("planes");
    const auto n = *any_size(1, 70).as("n");
    const std::int64_t half = half_of(planes);
    const auto v =
        *any_list<std::int64_t>(n, -half, half, {-half, half, 0, 1, -1, half / 2}).as("v");
    expect_unmasked(v, drawn_residues(1, n, planes, "cancellation"), planes);
}

/// The ends of the lift, where one more would change its sign, and multiples of every weight of the
/// recombination, with every cancellation.
TEST(Masks, MASK_4_lifts_at_the_ends) {
    for (std::size_t planes = 1; planes <= most_planes; ++planes) {
        const std::int64_t half = half_of(planes);
        std::vector<std::int64_t> v = {-half, half, -half + 1, half - 1, 0, 1, -1};
        for (std::size_t p = 0; p < planes; ++p) {
            const std::int64_t weight = (2 * half + 1) / primes[p];
            for (std::int64_t times = 0; times <= primes[p] / 2; ++times) {
                v.push_back(times * weight);
                v.push_back(-times * weight);
            }
        }
        for (unsigned step = 0; step < 251; step += 50) {
            Bytes cancellation;
            for (std::size_t i = 0; i < planes * v.size(); ++i) {
                cancellation.push_back(
                    residue_of(static_cast<std::int64_t>(i * step + step), i / v.size()));
            }
            expect_unmasked(v, cancellation, planes);
        }
    }
}

TEST(Masks, MASK_1_mutants_are_found) {
    const std::vector<std::int16_t> q = {-5, 32767};
    const Bytes mask = {3, 250};
    Bytes not_reduced;
    for (std::size_t i = 0; i < 2; ++i) {
        not_reduced.push_back(static_cast<std::uint8_t>(q[i] + mask[i]));
    }
    EXPECT_NE(not_reduced, masked_of(q, mask, 1));
}

}  // namespace
}  // namespace slip::testing
