// AES on published vectors, the keystream, and the sampler on bytes that are written down.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "reference/aes.hpp"
#include "reference/parameters.hpp"
#include "reference/randomness.hpp"
#include "reference/sha256.hpp"

namespace slip::reference {
namespace {

Bytes from_hex(const std::string& text) {
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

Block block_from_hex(const std::string& text) {
    const Bytes bytes = from_hex(text);
    Block block{};
    std::copy_n(bytes.begin(), block.size(), block.begin());
    return block;
}

Block sum(Block a, const Block& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] ^= b[i];
    return a;
}

TEST(Sha256, the_examples_of_FIPS_180_4) {
    const auto digest = [](const std::string& text) {
        const auto bytes = sha256(Bytes(text.begin(), text.end()));
        return Bytes(bytes.begin(), bytes.end());
    };
    EXPECT_EQ(digest(""),
              from_hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    EXPECT_EQ(digest("abc"),
              from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              from_hex("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
}

TEST(AesBlocks, RAND_7_examples_of_FIPS_197) {
    struct Example {
        const char* name;
        std::string key, plaintext, ciphertext;
    };
    const Example examples[] = {
        {"Appendix B", "2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734",
         "3925841d02dc09fbdc118597196a0b32"},
        {"Appendix C.1", "000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff",
         "69c4e0d86a7b0430d8cdb78070b4c55a"},
        {"Appendix C.3", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
         "00112233445566778899aabbccddeeff", "8ea2b7ca516745bfeafc49904b496089"},
    };
    for (const Example& example : examples) {
        const Aes aes(from_hex(example.key));
        EXPECT_EQ(aes.encrypt(block_from_hex(example.plaintext)),
                  block_from_hex(example.ciphertext))
            << example.name;
    }
}

TEST(AesBlocks, RAND_7_key_schedules_of_FIPS_197_appendix_A) {
    const Aes small(from_hex("2b7e151628aed2a6abf7158809cf4f3c"));
    ASSERT_EQ(small.schedule().size(), 44U);
    EXPECT_EQ(small.schedule()[4], (Aes::Word{0xa0, 0xfa, 0xfe, 0x17}));
    EXPECT_EQ(small.schedule()[43], (Aes::Word{0xb6, 0x63, 0x0c, 0xa6}));
    const Aes large(from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"));
    ASSERT_EQ(large.schedule().size(), 60U);
    EXPECT_EQ(large.schedule()[8], (Aes::Word{0x9b, 0xa3, 0x54, 0x11}));
    EXPECT_EQ(large.schedule()[59], (Aes::Word{0x70, 0x6c, 0x63, 0x1e}));
}

TEST(AesBlocks, RAND_7_the_substitution_is_a_permutation_without_fixed_points) {
    EXPECT_EQ(substitute(0x00), 0x63);
    EXPECT_EQ(substitute(0x53), 0xed) << "the example of FIPS-197, Section 5.1.1";
    std::set<std::uint8_t> values;
    for (int b = 0; b < 256; ++b) {
        const auto byte = static_cast<std::uint8_t>(b);
        values.insert(substitute(byte));
        EXPECT_NE(substitute(byte), byte);
        EXPECT_NE(substitute(byte), byte ^ 0xff);
    }
    EXPECT_EQ(values.size(), 256U);
}

TEST(AesBlocks, RAND_7_counter_mode_with_a_256_bit_key_SP_800_38A_F_5_5) {
    const Aes aes(from_hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"));
    const std::string counters[] = {
        "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "f0f1f2f3f4f5f6f7f8f9fafbfcfdff00",
        "f0f1f2f3f4f5f6f7f8f9fafbfcfdff01", "f0f1f2f3f4f5f6f7f8f9fafbfcfdff02"};
    const std::string plaintexts[] = {
        "6bc1bee22e409f96e93d7e117393172a", "ae2d8a571e03ac9c9eb76fac45af8e51",
        "30c81c46a35ce411e5fbc1191a0a52ef", "f69f2445df4f9b17ad2b417be66c3710"};
    const std::string ciphertexts[] = {
        "601ec313775789a5b7a7f504bbf3d228", "f443e3ca4d62b59aca84e990cacaf5c5",
        "2b0930daa23de94ce87017ba2d84988d", "dfc9c58db67aada613c2dd08457941a6"};
    for (std::size_t i = 0; i < 4; ++i) {
        const Block keystream = aes.encrypt(block_from_hex(counters[i]));
        EXPECT_EQ(sum(keystream, block_from_hex(plaintexts[i])), block_from_hex(ciphertexts[i]));
    }
}

TEST(AesBlocks, RAND_7_other_key_lengths_are_refused) {
    for (std::size_t size : {0U, 15U, 17U, 24U, 31U, 33U}) {
        EXPECT_THROW(Aes(Bytes(size)), PreconditionError) << size;
    }
}

std::string shared_folder() {
    if (const char* folder = std::getenv("SLIP_SHARED_DIR")) return folder;
#ifdef SLIP_SHARED_DIR
    return SLIP_SHARED_DIR;
#else
    return "../shared";
#endif
}

/// The paragraphs "Name: value" of the file, separated by empty lines.
std::vector<std::map<std::string, std::string>> paragraphs(std::istream& file) {
    std::vector<std::map<std::string, std::string>> all(1);
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(": ");
        if (line.empty()) {
            all.emplace_back();
        } else if (line.front() != '#' && colon != std::string::npos) {
            all.back()[line.substr(0, colon)] = line.substr(colon + 2);
        }
    }
    return all;
}

TEST(AesBlocks, RAND_7_the_vectors_of_NIST_for_AES_128_CTR) {
    const std::string path = shared_folder() + "/data/kat/aes_128_ctr.txt";
    std::ifstream file(path);
    if (!file) GTEST_SKIP() << "there are no NIST vectors at " << path;
    int checked = 0;
    for (auto& vector : paragraphs(file)) {
        if (vector["Cipher"] != "AES-128-CTR") continue;
        ASSERT_EQ(vector["Plaintext"].size(), 32U) << "one block";
        const Block keystream = Aes(from_hex(vector["Key"])).encrypt(block_from_hex(vector["IV"]));
        ASSERT_EQ(sum(keystream, block_from_hex(vector["Plaintext"])),
                  block_from_hex(vector["Ciphertext"]));
        ++checked;
    }
    EXPECT_EQ(checked, 568);
}

Bytes shake(const std::string& message, std::size_t count) {
    return ShakeSource(Bytes(message.begin(), message.end())).take(count);
}

TEST(Shake, RAND_8_examples_of_SHAKE_128) {
    EXPECT_EQ(shake("", 32),
              from_hex("7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26"));
    EXPECT_EQ(shake("abc", 32),
              from_hex("5881092dd818bf5cf8a3ddb793fbcba74097d5c526a6d35f97b83351940f2cc8"));
    // NIST's example of a message of 1600 bits: 200 bytes a3, more than one block.
    EXPECT_EQ(shake(std::string(200, '\xa3'), 32),
              from_hex("131ab8d2b594946b9c81333f9bb6e0ce75c3b93104fa3469d3917457385da037"));
}

TEST(Shake, RAND_8_the_permutation_of_the_zero_state) {
    const KeccakState once =
        keccak_f({});  // the first words of the known answers of the Keccak team
    EXPECT_EQ(once[0], 0xf1258f7940e1dde7U);
    EXPECT_EQ(once[1], 0x84d5ccf933c0478aU);
    EXPECT_EQ(once[24], 0xeaf1ff7b5ceca249U);
    EXPECT_EQ(keccak_f(once)[0], 0x2d5c954df96ecb3cU);
}

TEST(Shake, RAND_8_the_stream_is_the_same_however_it_is_read) {
    ShakeSource parts(Bytes(167, 1));  // the padding fills the last byte of a block
    Bytes joined;
    for (std::size_t count : {1U, 167U, 0U, 168U, 169U}) {
        const Bytes part = parts.take(count);
        joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, ShakeSource(Bytes(167, 1)).take(505));
    std::set<Bytes> lengths;
    for (std::size_t length : {166U, 167U, 168U, 169U, 335U, 336U}) {
        lengths.insert(ShakeSource(Bytes(length, 1)).take(16));
    }
    EXPECT_EQ(lengths.size(), 6U);
}

TEST(Keystreams, RAND_1_the_counter_block_has_three_big_endian_fields) {
    EXPECT_EQ(counter_block(Purpose::mask, 0, 0),
              block_from_hex("00000001000000000000000000000000"));
    EXPECT_EQ(counter_block(Purpose::integrity, 0x0102030405060708, 0x090a0b0c),
              block_from_hex("0000000201020304050607080"
                             "90a0b0c"));
    EXPECT_EQ(counter_block(Purpose::mask, ~std::uint64_t{0}, 1),
              block_from_hex("00000001ffffffffffffffff00000001"));
    EXPECT_EQ(counter_block(Purpose::selection, 0, 0, 0x010203),
              block_from_hex("01020303000000000000000000000000"))
        << "field = 256 plane + purpose";
    EXPECT_THROW(counter_block(Purpose::mask, 0, 0, std::size_t{1} << 24), PreconditionError);
}

Key key_of_byte(std::uint8_t first) {
    Key key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(first + i);
    return key;
}

TEST(Keystreams, RAND_1_the_stream_is_the_encrypted_blocks_in_order) {
    const Key key = key_of_byte(0);
    const Aes aes(key);
    Bytes expected;
    for (std::uint32_t counter = 0; counter < 3; ++counter) {
        const Block block = aes.encrypt(counter_block(Purpose::integrity, 7, counter));
        expected.insert(expected.end(), block.begin(), block.end());
    }
    Keystream whole(key, Purpose::integrity, 7);
    EXPECT_EQ(whole.take(48), expected);

    Keystream parts(key, Purpose::integrity, 7);
    Bytes joined;
    for (std::size_t count : {1U, 15U, 0U, 20U, 12U}) {
        const Bytes part = parts.take(count);
        joined.insert(joined.end(), part.begin(), part.end());
    }
    EXPECT_EQ(joined, expected) << "however it is read";
}

TEST(Keystreams, RAND_1_key_purpose_index_and_plane_each_change_the_stream) {
    std::set<Bytes> streams;
    for (const Key& key : {key_of_byte(0), key_of_byte(1)}) {
        for (Purpose purpose : {Purpose::mask, Purpose::integrity, Purpose::selection}) {
            for (std::uint64_t index :
                 {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
                for (std::size_t plane = 0; plane < 7; ++plane) {
                    streams.insert(Keystream(key, purpose, index, plane).take(32));
                }
            }
        }
    }
    EXPECT_EQ(streams.size(), 2U * 3 * 3 * 7);
}

struct Drawn {
    Vector residues;
    std::vector<std::size_t> rejected;
    std::size_t bytes_left;
};

Drawn draw(const Integer& L, const std::string& hex, std::size_t count) {
    FixedBytes source(from_hex(hex));
    const Sample sample = Sampler(Ring(L)).draw(source, count);
    return {sample.residues, sample.rejected, source.remaining()};
}

TEST(Samplers, RAND_2_a_byte_is_accepted_iff_it_is_below_the_prime) {
    for (const Integer& p : all_primes) {
        const Sampler sampler{Ring(p)};
        EXPECT_EQ(sampler.bits(), 8U);
        EXPECT_EQ(sampler.word_bytes(), 1U);
        for (int byte = 0; byte < 256; ++byte) {
            FixedBytes source({static_cast<std::uint8_t>(byte), 7});
            const Sample sample = sampler.draw(source, 1);
            EXPECT_EQ(sample.residues[0], byte < p ? byte : 7);
            EXPECT_EQ(sample.rejected.empty(), byte < p);
        }
    }
}

TEST(Samplers, RAND_2_words_of_31_bits_are_four_little_endian_bytes_less_the_top_bit) {
    const Drawn drawn = draw((Integer(1) << 31) - 1,
                             "01000000"
                             "ffffff7f"
                             "feffff7f"
                             "00000080"
                             "ffffffff"
                             "04030281"
                             "aa",
                             4);
    EXPECT_EQ(drawn.residues, Vector({1, 0x7ffffffe, 0, 0x01020304}));
    EXPECT_EQ(drawn.rejected, std::vector<std::size_t>({1, 4})) << "L itself, with either top bit";
    EXPECT_EQ(drawn.bytes_left, 1U);
}

TEST(Samplers, RAND_2_words_of_56_bits_are_eight_little_endian_bytes_less_the_last) {
    const Drawn drawn = draw((Integer(1) << 56) - 5,
                             "fbffffffffffff00"
                             "faffffffffffffff"
                             "00000000000000e0",
                             2);
    EXPECT_EQ(drawn.residues, Vector({(Integer(1) << 56) - 6, 0}));
    EXPECT_EQ(drawn.rejected, std::vector<std::size_t>({0}));
}

TEST(Samplers, RAND_2_the_width_of_a_word) {
    struct Width {
        Integer L;
        std::size_t bits, bytes;
    };
    const Integer one = 1;
    for (const auto& [L, bits, bytes] : std::vector<Width>{{2, 1, 1},
                                                           {3, 2, 1},
                                                           {4, 2, 1},
                                                           {5, 3, 1},
                                                           {256, 8, 1},
                                                           {257, 9, 2},
                                                           {one << 16, 16, 2},
                                                           {(one << 16) + 1, 17, 4},
                                                           {(one << 31) - 1, 31, 4},
                                                           {one << 32, 32, 4},
                                                           {(one << 32) + 1, 33, 8},
                                                           {(one << 61) - 1, 61, 8},
                                                           {one << 64, 64, 8},
                                                           {(one << 64) + 1, 65, 9},
                                                           {one << 80, 80, 10}}) {
        EXPECT_EQ(Sampler(Ring(L)).bits(), bits) << L;
        EXPECT_EQ(Sampler(Ring(L)).word_bytes(), bytes) << L;
    }
}

TEST(Samplers, RAND_2_a_word_may_cross_the_end_of_a_block) {
    const Integer L = (Integer(1) << 65) - 49;
    const Key key = key_of_byte(3);
    const Vector residues = uniform_residues(Ring(L), key, Purpose::mask, 5, 20);
    const Bytes stream = Keystream(key, Purpose::mask, 5).take(20 * 9);
    for (std::size_t i = 0; i < residues.size(); ++i) {
        const auto first = stream.begin() + static_cast<std::ptrdiff_t>(9 * i);
        const Integer word = little_endian(Bytes(first, first + 9));
        EXPECT_EQ(residues[i], word % (Integer(1) << 65)) << "no word of this stream is rejected";
    }
}

TEST(Samplers, RAND_2_planes_are_joined_from_a_stream_each) {
    const Planes planes = paper().planes;
    const Vector r = uniform_residues(planes, key_of_byte(7), Purpose::mask, 3, 40);
    for (std::size_t p = 0; p < planes.count(); ++p) {
        EXPECT_EQ(planes.plane(p, r), uniform_residues(Ring(planes.primes()[p]), key_of_byte(7),
                                                       Purpose::mask, 3, 40, p));
    }
}

TEST(PublicResidues, RAND_8_the_input_of_SHAKE_128) {
    EXPECT_EQ(public_input(1, PublicPurpose::weights, 3, 0x01020304, 0x0a0b0c0d, key_of_byte(0x40)),
              from_hex("534c49502d32"
                       "01"
                       "02"
                       "03"
                       "04030201"
                       "0d0c0b0a"
                       "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"));
    EXPECT_THROW(public_input(1, PublicPurpose::masks, 256, 0, 0, Key{}), PreconditionError);
}

TEST(PublicResidues, RAND_8_are_what_the_sampler_draws) {
    const Bytes input = public_input(1, PublicPurpose::masks, 0, 64, 0, key_of_byte(1));
    Vector expected;
    for (std::uint8_t byte : ShakeSource(input).take(300)) {
        if (byte < 223) expected.emplace_back(byte);
    }
    expected.resize(200);
    EXPECT_EQ(public_residues(Ring(223), input, 200), expected);
}

TEST(PublicResidues, RAND_8_every_argument_changes_them) {
    std::set<Vector> drawn;
    const auto add = [&](std::uint8_t set, PublicPurpose purpose, std::size_t plane,
                         std::uint32_t width, std::uint32_t index, const Key& seed) {
        drawn.insert(
            public_residues(Ring(251), public_input(set, purpose, plane, width, index, seed), 32));
    };
    add(1, PublicPurpose::masks, 0, 64, 0, key_of_byte(1));
    add(2, PublicPurpose::masks, 0, 64, 0, key_of_byte(1));
    add(1, PublicPurpose::weights, 0, 64, 0, key_of_byte(1));
    add(1, PublicPurpose::masks, 1, 64, 0, key_of_byte(1));
    add(1, PublicPurpose::masks, 0, 65, 0, key_of_byte(1));
    add(1, PublicPurpose::masks, 0, 64, 1, key_of_byte(1));
    add(1, PublicPurpose::masks, 0, 64, 0, key_of_byte(2));
    EXPECT_EQ(drawn.size(), 7U);
}

TEST(Samplers, RAND_2_a_source_that_ends_is_an_error) {
    EXPECT_THROW(draw(5, "0607", 1), PreconditionError);
}

/// How often each residue comes out when every word of the sampler comes in once.
std::map<Integer, int> histogram_over_all_words(const Integer& L) {
    const Sampler sampler{Ring(L)};
    const std::size_t words = std::size_t{1} << (8 * sampler.word_bytes());
    Bytes bytes;
    for (std::size_t word = 0; word < words; ++word) {
        for (std::size_t i = 0; i < sampler.word_bytes(); ++i) {
            bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
        }
    }
    std::map<Integer, int> histogram;
    FixedBytes source(bytes);
    while (source.remaining() > 0) {
        FixedBytes word(source.take(sampler.word_bytes()));
        try {
            ++histogram[sampler.draw(word, 1).residues.front()];
        } catch (const PreconditionError&) {  // a rejected word: the source has no second one
        }
    }
    return histogram;
}

TEST(Samplers, RAND_3_each_residue_is_the_image_of_equally_many_words) {
    for (int L : {2, 3, 4, 5, 7, 8, 11, 15, 16, 17, 100, 127, 128, 129, 255, 256, 257, 1000}) {
        const auto histogram = histogram_over_all_words(L);
        ASSERT_EQ(histogram.size(), static_cast<std::size_t>(L));
        const Sampler sampler{Ring(L)};
        const int expected = 1 << (8 * sampler.word_bytes() - sampler.bits());
        for (const auto& [residue, count] : histogram) {
            ASSERT_GE(residue, 0);
            ASSERT_LT(residue, L);
            ASSERT_EQ(count, expected) << residue << " mod " << L;
        }
    }
}

TEST(Samplers, RAND_3_reduction_in_place_of_rejection_is_not_uniform) {
    std::map<int, int> histogram;
    for (int word = 0; word < 256; ++word) ++histogram[(word & 7) % 5];  // the mutant, L = 5
    EXPECT_NE(histogram[0], histogram[4]);
}

}  // namespace
}  // namespace slip::reference
