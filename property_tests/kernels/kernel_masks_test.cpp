// The keystream, the sampler, masks and unmasking on every backend, against the reference.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "property_tests/kernels/kernel_fixture.hpp"
#include "property_tests/kernels/left_on_the_stack.hpp"
#include "reference/aes.hpp"
#include "reference/masking.hpp"
#include "reference/randomness.hpp"

namespace slip::kernel_tests {
namespace {

using RoundKeys = std::array<std::uint8_t, 240>;

/// The backends that have AES instructions.
template <class Body>
void for_each_aes_backend(const Body& body) {
    for_each_backend([&](const Backend& backend) {
        if (backend.aes256_schedule != nullptr) body(backend);
    });
}

RoundKeys round_keys_of(const Backend& backend, const reference::Key& key) {
    RoundKeys round_keys;
    backend.aes256_schedule(key.data(), round_keys.data());
    return round_keys;
}

/// Drawn within a property.
reference::Key drawn_key() {
    const auto bytes = *any_list<std::uint8_t>(32, 0, 255).as("key");
    reference::Key key;
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

/// The bytes of `blocks` blocks of a stream, by the reference's AES.
std::vector<std::uint8_t> reference_stream(const reference::Key& key, std::uint32_t tag,
                                           std::uint64_t index, std::uint32_t first_block,
                                           std::size_t blocks) {
    const reference::Aes cipher(key);
    std::vector<std::uint8_t> stream;
    for (std::size_t i = 0; i < blocks; ++i) {
        const auto block = cipher.encrypt(reference::counter_block(
            static_cast<reference::Tag>(tag), index, static_cast<std::uint32_t>(first_block + i)));
        stream.insert(stream.end(), block.begin(), block.end());
    }
    return stream;
}

/// RAND-2 by the reference, on bytes that may run out.
template <class P>
std::vector<typename P::Residue> reference_sample(const std::vector<std::uint8_t>& stream) {
    constexpr std::size_t word = sizeof(typename P::Residue);
    std::vector<typename P::Residue> accepted;
    for (std::size_t at = 0; at < stream.size(); at += word) {
        const auto from = stream.begin() + static_cast<std::ptrdiff_t>(at);
        reference::Bytes bytes(from, from + word);
        // A second word that is accepted for certain lets the sampler get past a rejected one.
        bytes.insert(bytes.end(), word, 0);
        reference::FixedBytes source(bytes);
        const reference::Sample sample = reference::Sampler(ring<P>()).draw(source, 1);
        if (sample.rejected.empty()) {
            accepted.push_back(static_cast<typename P::Residue>(sample.residues.front()));
        }
    }
    return accepted;
}

/// What a backend makes of the blocks; it may write no further than their words reach.
template <class P>
std::vector<typename P::Residue> expand(const Backend& backend, const RoundKeys& round_keys,
                                        std::uint32_t tag, std::uint64_t index,
                                        std::uint32_t first_block, std::size_t blocks) {
    constexpr typename P::Residue untouched = 0xfeedbeef;
    const std::size_t words = blocks * (16 / sizeof(typename P::Residue));
    std::vector<typename P::Residue> out(words + 1, untouched);
    const std::size_t accepted =
        backend.of<P>().expand(round_keys.data(), tag, index, first_block, blocks, out.data());
    EXPECT_EQ(out.back(), untouched);
    EXPECT_LE(accepted, words);
    out.resize(accepted);
    return out;
}

// --- AES -----------------------------------------------------------------------------------------

/// FIPS 197, C.3, has no counter mode; NIST SP 800-38A, F.5.5 (CTR-AES256.Encrypt) has: four blocks
/// whose counter block is f0f1...ff, f0f1...ff00, ...: the first one is a stream of RAND-1.
TEST(Aes, RAND_7_RAND_1_the_published_vector_of_counter_mode) {
    const reference::Key key = {0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae,
                                0xf0, 0x85, 0x7d, 0x77, 0x81, 0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61,
                                0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4};
    const std::array<std::uint8_t, 16> published = {0x0b, 0xdf, 0x7d, 0xf1, 0x59, 0x17, 0x16, 0x33,
                                                    0x5e, 0x9a, 0x8b, 0x15, 0xc8, 0x60, 0xc5, 0x02};
    std::array<std::uint32_t, 4> words;
    std::memcpy(words.data(), published.data(), sizeof words);
    for_each_aes_backend([&](const Backend& backend) {
        const auto residues = expand<P31>(backend, round_keys_of(backend, key), 0xf0f1f2f3,
                                          0xf4f5f6f7f8f9fafb, 0xfcfdfeff, 1);
        ASSERT_EQ(residues.size(), 4U);
        for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(residues[i], words[i] & P31::p);
    });
}

RC_GTEST_PROP(Aes, RAND_7_round_keys_equal_the_reference, ()) {
    const reference::Key key = drawn_key();
    RoundKeys expected;
    std::size_t at = 0;
    const reference::Aes cipher(key);
    for (const auto& word : cipher.schedule()) {
        for (const std::uint8_t byte : word) expected[at++] = byte;
    }
    for_each_aes_backend(
        [&](const Backend& backend) { RC_ASSERT(round_keys_of(backend, key) == expected); });
}

// --- residues ------------------------------------------------------------------------------------

PROFILE_PROP(Masks, RAND_1_RAND_2_residues_of_any_blocks_equal_the_reference) {
    const auto index = *rc::gen::arbitrary<std::uint64_t>().as("index");
    const auto blocks = *any_size(0, 79).as("blocks");
    const reference::Key key = drawn_key();
    const auto tag = *rc::gen::element<std::uint32_t>(1, 2).as("tag");
    // Near the end of the counter's range, where a carry would reach the index.
    const auto last = static_cast<std::uint32_t>(0 - blocks);
    const auto first = *rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 100), rc::gen::just(last))
                            .as("first block");
    const auto expected = reference_sample<P>(reference_stream(key, tag, index, first, blocks));
    for_each_aes_backend([&](const Backend& backend) {
        RC_ASSERT(expand<P>(backend, round_keys_of(backend, key), tag, index, first, blocks) ==
                  expected);
    });
}

/// A word is rejected once in 2^31. Another last round key moves every block of a stream by
/// the same difference, which is chosen here so that a given word becomes p.
PROFILE_TEST(Masks, RAND_2_a_rejected_word_at_every_place) {
    using Residue = typename P::Residue;
    constexpr std::size_t blocks = 45;
    constexpr std::size_t words_per_block = 16 / sizeof(Residue);
    reference::Key key;
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(7 * i + 2);
    const auto stream = reference_stream(key, 1, 7, 0, blocks);
    for (std::size_t word = 0; word < blocks * words_per_block; ++word) {
        Residue difference;
        std::memcpy(&difference, stream.data() + word * sizeof(Residue), sizeof difference);
        difference ^= word % 3 == 0 ? P::p : ~Residue{0};
        std::array<std::uint8_t, 16> mask{};
        std::memcpy(mask.data() + word % words_per_block * sizeof(Residue), &difference,
                    sizeof difference);
        auto moved = stream;
        for (std::size_t i = 0; i < moved.size(); ++i) moved[i] ^= mask[i % 16];
        const auto expected = reference_sample<P>(moved);
        ASSERT_LT(expected.size(), blocks * words_per_block);
        for_each_aes_backend([&](const Backend& backend) {
            RoundKeys round_keys = round_keys_of(backend, key);
            for (std::size_t i = 0; i < 16; ++i) round_keys[224 + i] ^= mask[i];
            EXPECT_EQ(expand<P>(backend, round_keys, 1, 7, 0, blocks), expected) << word;
        });
    }
}

/// Of few blocks, fewer than are in flight at a time, neither words nor residues stay behind.
PROFILE_TEST(Masks, MASK_6_a_short_stream_leaves_no_residue_on_the_stack) {
    if (SLIP_STACK_AS_SHIPPED == 0) GTEST_SKIP() << "a sanitizer's build has other stacks";
    constexpr std::size_t blocks = 5;
    const reference::Key key{1, 2, 3};
    for_each_aes_backend([&](const Backend& backend) {
        const RoundKeys round_keys = round_keys_of(backend, key);
        std::vector<typename P::Residue> out(blocks * (16 / sizeof(typename P::Residue)));
        const auto stack = left_on_the_stack([&] {
            const std::size_t accepted =
                backend.of<P>().expand(round_keys.data(), 1, 7, 0, blocks, out.data());
            if (accepted != out.size()) out.clear();
        });
        ASSERT_FALSE(out.empty()) << "the reference rejects no word here";
        for (std::size_t at = 0; at + 2 <= out.size(); at += 2) {
            EXPECT_FALSE(hold<typename P::Residue>(stack, {out[at], out[at + 1]})) << at;
        }
    });
}

PROFILE_PROP(Masks, RAND_2_the_sampler_accepts_what_the_reference_accepts) {
    using Residue = typename P::Residue;
    const auto count = *any_size(0, 69).as("count");
    constexpr Residue p = P::p, ones = ~Residue{0};
    const List<Residue> words =
        *any_list<Residue>(count, 0, ones, {0, p, ones, p - 1, ones - p, ones - 1}).as("words");
    std::vector<std::uint8_t> bytes(count * sizeof(Residue));
    std::copy_n(reinterpret_cast<const std::uint8_t*>(words.data()), bytes.size(), bytes.begin());
    const auto expected = reference_sample<P>(bytes);
    for_each_backend([&](const Backend& backend) {
        std::vector<Residue> out(count);
        out.resize(backend.of<P>().sample(words.data(), count, out.data()));
        RC_ASSERT(out == expected);
        std::vector<Residue> in_place = words;
        in_place.resize(backend.of<P>().sample(in_place.data(), count, in_place.data()));
        RC_ASSERT(in_place == out);
    });
}

template <class P>
using MaskFunction = decltype(kernels::ResidueKernels<P>::mask);
template <class P>
using Unmask = decltype(kernels::ResidueKernels<P>::unmask);

template <class P>
bool mask_agrees(MaskFunction<P> mask, const std::vector<std::int16_t>& q,
                 const std::vector<typename P::Residue>& r) {
    std::vector<typename P::Residue> masked(q.size());
    mask(q.data(), r.data(), q.size(), masked.data());
    return to_vector(masked) == reference::mask(ring<P>(), to_vector(q), to_vector(r));
}

template <class P>
bool unmask_agrees(Unmask<P> unmask, const std::vector<typename P::Residue>& y,
                   const std::vector<typename P::Residue>& cancellation) {
    std::vector<typename P::Product> out(y.size());
    unmask(y.data(), cancellation.data(), y.size(), out.data());
    return to_vector(out) == reference::unmask(ring<P>(), to_vector(y), to_vector(cancellation));
}

PROFILE_PROP(Masks, MASK_1_MASK_4_masking_and_unmasking_equal_the_reference) {
    const auto n = *any_size(0, 70).as("n");
    const auto q = *any_activations(n).as("q");
    const auto r = *any_residues<P>(n).as("r");
    const auto y = *any_residues<P>(n).as("y");
    for_each_backend([&](const Backend& backend) {
        RC_ASSERT(mask_agrees<P>(backend.of<P>().mask, q, r));
        RC_ASSERT(unmask_agrees<P>(backend.of<P>().unmask, y, r));
    });
}

/// Every pair of edges, at every place of a register.
PROFILE_TEST(Masks, MASK_1_MASK_4_edges) {
    const auto edge = edges<P>();
    for (const auto a : edge) {
        std::vector<typename P::Residue> y, c;
        std::vector<std::int16_t> q;
        for (const auto b : edge) {
            for (const int value : {-32767, -1, 0, 1, 32767}) {
                y.push_back(a);
                c.push_back(b);
                q.push_back(static_cast<std::int16_t>(value));
            }
        }
        for_each_backend([&](const Backend& backend) {
            EXPECT_TRUE(mask_agrees<P>(backend.of<P>().mask, q, y));
            EXPECT_TRUE(unmask_agrees<P>(backend.of<P>().unmask, y, c));
        });
    }
}

PROFILE_TEST(Masks, MASK_1_MASK_4_mutants_are_found) {
    using Residue = typename P::Residue;
    const MaskFunction<P> not_embedded = [](const std::int16_t* q, const Residue* mask,
                                            std::size_t n, Residue* masked) {
        for (std::size_t j = 0; j < n; ++j) masked[j] = static_cast<Residue>(q[j]) + mask[j];
    };
    const Unmask<P> not_centred = [](const Residue* y, const Residue* cancellation, std::size_t m,
                                     typename P::Product* out) {
        for (std::size_t i = 0; i < m; ++i) {
            out[i] = static_cast<typename P::Product>((y[i] + P::p - cancellation[i]) % P::p);
        }
    };
    EXPECT_FALSE(mask_agrees<P>(not_embedded, {-5}, {3}));
    EXPECT_FALSE(unmask_agrees<P>(not_centred, {1}, {2}));
}

}  // namespace
}  // namespace slip::kernel_tests
