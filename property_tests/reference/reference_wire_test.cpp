// The frames of the reference: bytes written out by hand, the examples of the chapter, round trips,
// and everything a decoder must refuse.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "property_tests/reference/other_set.hpp"
#include "reference/wire.hpp"

namespace slip::reference {
namespace {

Bytes from_hex(const std::string& text) {
    std::string digits;
    for (char c : text) {
        if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    }
    Bytes bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::uint8_t>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

/// Groups 0 and 2 with n = 3 and M = 2.
Shapes shapes(const ParameterSet& set = paper()) { return {set, {{0, {3, 2}}, {2, {3, 2}}}}; }

Digest digest_of(std::uint8_t first) {
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::uint8_t>(first + i);
    return digest;
}

void expect_bytes(const Frame& frame, const std::string& hex, const ParameterSet& set = paper()) {
    EXPECT_EQ(encode(frame, shapes(set)), from_hex(hex));
    EXPECT_EQ(decode(from_hex(hex), shapes(set)), frame);
}

TEST(WireFrames, WIRE_1_a_frame_is_length_type_and_body) {
    expect_bytes(Ready{}, "01000000 02");
    const Bytes hello = encode(Hello{}, shapes());
    EXPECT_EQ(hello.size(), 4U + 40U);
    EXPECT_EQ(Bytes(hello.begin(), hello.begin() + 4), from_hex("28000000"));
}

TEST(WireFrames, WIRE_2_hello) {
    expect_bytes(Hello{2, 1, digest_of(0)},
                 "28000000 01 534c4950 0200 01"
                 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    expect_bytes(Hello{0x0203, 0xff, digest_of(1)},
                 "28000000 01 534c4950 0302 ff"
                 "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20");
}

TEST(WireFrames, WIRE_3_and_WIRE_6_frames_without_a_body) {
    expect_bytes(Ready{}, "01000000 02");
    expect_bytes(Abort{}, "01000000 05");
    expect_bytes(Close{}, "01000000 06");
}

TEST(WireFrames, WIRE_4_apply_has_a_byte_for_each_residue_and_plane) {
    // -2 = 3368562315 is (249, 239, 237, 231); 256 is (5, 15, 17, 23).
    const Matrix two_columns{{6, 4}, {3368562315, 5}, {7, 256}};
    expect_bytes(Apply{0x0102030405060708, 2, two_columns},
                 "29000000 03 0807060504030201 02000000 02000000"
                 "06f907 06ef07 06ed07 06e707  040505 04050f 040511 040517");
    expect_bytes(Apply{0, 0, Matrix{{1}, {other_set().ring().modulus() - 1}, {0}}},
                 "26000000 03 0000000000000000 00000000 01000000"
                 "01fa00 01f000 01ee00 01e800 01e400 01e200 01de00",
                 other_set());
}

TEST(WireFrames, WIRE_5_reply_has_the_rows_of_the_outputs) {
    // -1143 = 3368561174 is (112, 62, 52, 22).
    expect_bytes(Reply{1, 2, Matrix{{31, 0}, {3368561174, 1}}},
                 "21000000 04 0100000000000000 02000000 02000000"
                 "1f70 1f3e 1f34 1f16  0001 0001 0001 0001");
}

TEST(WireFrames, WIRE_7_refuse_has_seven_reasons) {
    for (std::uint8_t reason = 1; reason <= 7; ++reason) {
        const Frame frame = Refuse{static_cast<RefuseReason>(reason)};
        const Bytes bytes = {2, 0, 0, 0, 7, reason};
        EXPECT_EQ(encode(frame, shapes()), bytes);
        EXPECT_EQ(decode(bytes, shapes()), frame);
    }
}

void expect_refused(const std::string& hex, DecodeReason reason) {
    try {
        decode(from_hex(hex), shapes());
        ADD_FAILURE() << "accepted " << hex;
    } catch (const DecodeError& error) {
        EXPECT_EQ(error.reason(), reason) << hex << ": " << error.what();
    }
}

TEST(WireRefusals, WIRE_8_lengths_and_types) {
    expect_refused("", DecodeReason::missing_bytes);
    expect_refused("010000", DecodeReason::missing_bytes);
    expect_refused("01000000", DecodeReason::missing_bytes);
    expect_refused("01000000 02 00", DecodeReason::trailing_bytes);
    expect_refused("00000000", DecodeReason::length_out_of_range);
    expect_refused("41000004 03", DecodeReason::length_out_of_range);
    expect_refused("40000004 03", DecodeReason::missing_bytes);
    expect_refused("01000000 00", DecodeReason::unknown_type);
    expect_refused("01000000 08", DecodeReason::unknown_type);
    for (const char* type : {"02", "05", "06"}) {
        expect_refused(std::string("02000000") + type + "00", DecodeReason::wrong_length);
    }
    expect_refused("01000000 07", DecodeReason::wrong_length);
    expect_refused("03000000 07 0100", DecodeReason::wrong_length);
    expect_refused("02000000 07 00", DecodeReason::unknown_refuse_reason);
    expect_refused("02000000 07 08", DecodeReason::unknown_refuse_reason);
}

TEST(WireRefusals, WIRE_8_hello) {
    const std::string digest(64, '0');
    expect_refused("28000000 01 534c4951 0200 01" + digest, DecodeReason::wrong_magic);
    expect_refused("28000000 01 734c4950 0200 01" + digest, DecodeReason::wrong_magic);
    expect_refused("27000000 01 534c4950 0200 01" + digest.substr(2), DecodeReason::wrong_length);
    expect_refused("29000000 01 534c4950 0200 01 00" + digest, DecodeReason::wrong_length);
    expect_refused("01000000 01", DecodeReason::wrong_length);
}

TEST(WireRefusals, WIRE_8_messages) {
    const std::string header = "0000000000000000 00000000 01000000";
    expect_refused("0d000000 03 0000000000000000 00000000", DecodeReason::wrong_length);
    expect_refused("11000000 03 0000000000000000 00000000 00000000", DecodeReason::wrong_columns);
    expect_refused("11000000 03 0000000000000000 00000000 01100000", DecodeReason::wrong_columns);
    expect_refused("1d000000 03 0000000000000000 01000000 01000000 000000000000000000000000",
                   DecodeReason::unknown_group);
    expect_refused("19000000 03" + header + "00000000 00000000", DecodeReason::wrong_length);
    expect_refused("1e000000 03" + header + "00000000 00000000 00000000 00",
                   DecodeReason::wrong_length);
    expect_refused("1d000000 03 0000000000000000 00000000 02000000 000000000000000000000000",
                   DecodeReason::wrong_length);
    expect_refused("1d000000 04" + header + "00000000 00000000 00000000",
                   DecodeReason::wrong_length);
}

/// Puts each value into one byte of the residues: a frame if it is below the prime of its plane.
void expect_below(std::uint8_t prime, Bytes bytes, std::size_t position) {
    for (int value = 0; value < 256; ++value) {
        bytes[position] = static_cast<std::uint8_t>(value);
        if (value < prime) {
            EXPECT_EQ(encode(decode(bytes, shapes()), shapes()), bytes);
            continue;
        }
        try {
            decode(bytes, shapes());
            ADD_FAILURE() << "accepted " << value << " at " << position;
        } catch (const DecodeError& error) {
            EXPECT_EQ(error.reason(), DecodeReason::residue_not_canonical);
        }
    }
}

TEST(WireRefusals, WIRE_8_a_byte_that_is_not_below_its_prime) {
    const Bytes apply = encode(Apply{0, 0, Matrix(3, 1)}, shapes());
    const Bytes reply = encode(Reply{0, 0, Matrix(2, 1)}, shapes());
    for (std::size_t p = 0; p < 4; ++p) {
        const auto prime = paper().planes.primes()[p].convert_to<std::uint8_t>();
        for (std::size_t row = 0; row < 3; ++row) expect_below(prime, apply, 21 + 3 * p + row);
        for (std::size_t row = 0; row < 2; ++row) expect_below(prime, reply, 21 + 2 * p + row);
    }
}

TEST(WireRefusals, WIRE_8_a_message_above_the_limit_of_residue_bytes) {
    // 2^26 / 4 planes = 16777216 residues: 4096 columns of 4096 rows fit, one row more does not.
    const Shapes tall{paper(), {{0, {4097, 1}}, {1, {1, 4097}}}};
    const Bytes to_tall = from_hex("11000000 03 0000000000000000 00000000 00100000");
    const Bytes from_tall = from_hex("11000000 03 0000000000000000 01000000 00100000");
    for (const Bytes& bytes : {to_tall, from_tall}) {
        try {
            decode(bytes, tall);
            ADD_FAILURE() << "accepted";
        } catch (const DecodeError& error) {
            EXPECT_EQ(error.reason(), DecodeReason::wrong_columns);
        }
    }
}

TEST(WireRefusals, WIRE_8_an_encoder_refuses_what_no_decoder_accepts) {
    EXPECT_THROW(encode(Apply{0, 1, Matrix(3, 1)}, shapes()), PreconditionError) << "no group 1";
    EXPECT_THROW(encode(Apply{0, 0, Matrix(2, 1)}, shapes()), PreconditionError);
    EXPECT_THROW(encode(Reply{0, 0, Matrix(3, 1)}, shapes()), PreconditionError);
    EXPECT_THROW(encode(Apply{0, 0, Matrix(3, 0)}, shapes()), PreconditionError);
    EXPECT_THROW(encode(Apply{0, 0, Matrix(3, 4097)}, shapes()), PreconditionError);
    EXPECT_THROW(encode(Apply{0, 0, Matrix{{0}, {paper().ring().modulus()}, {0}}}, shapes()),
                 PreconditionError);
    EXPECT_THROW(encode(Apply{0, 0, Matrix{{0}, {-1}, {0}}}, shapes()), PreconditionError);
    EXPECT_THROW(encode(Refuse{static_cast<RefuseReason>(8)}, shapes()), PreconditionError);
}

TEST(WireFrames, WIRE_7_the_header_of_an_apply_can_be_read_before_the_rest) {
    const auto header = apply_header(from_hex("11000000 03 0500000000000000 09000000 03000000"));
    ASSERT_TRUE(header.has_value());
    EXPECT_EQ(header->sequence, 5U);
    EXPECT_EQ(header->group, 9U);
    EXPECT_EQ(header->columns, 3U);
    EXPECT_FALSE(apply_header(from_hex("11000000 04 0500000000000000 09000000 03000000")));
    EXPECT_FALSE(apply_header(from_hex("11000000 03 0500000000000000 09000000 00000000")));
    EXPECT_FALSE(apply_header(from_hex("10000000 03 0500000000000000 09000000 030000")));
    EXPECT_FALSE(apply_header(from_hex("12000000 03 0500000000000000 09000000 03000000")));
}

Matrix any_residues(std::size_t rows, const ParameterSet& set) {
    Matrix residues(rows, *rc::gen::inRange<std::size_t>(1, 6));
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t t = 0; t < residues.cols(); ++t) {
            residues(i, t) = *rc::gen::arbitrary<std::uint64_t>() % set.ring().modulus();
        }
    }
    return residues;
}

Frame any_frame(const ParameterSet& set) {
    const auto sequence = *rc::gen::arbitrary<std::uint64_t>();
    const auto group = *rc::gen::element(0U, 2U);
    switch (*rc::gen::inRange(1, 8)) {
        case 1:
            return Hello{*rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint8_t>(),
                         digest_of(*rc::gen::arbitrary<std::uint8_t>())};
        case 2:
            return Ready{};
        case 3:
            return Apply{sequence, group, any_residues(3, set)};
        case 4:
            return Reply{sequence, group, any_residues(2, set)};
        case 5:
            return Abort{};
        case 6:
            return Close{};
        default:
            return Refuse{static_cast<RefuseReason>(*rc::gen::inRange(1, 8))};
    }
}

RC_GTEST_PROP(WireFrames, WIRE_8_every_frame_decodes_to_itself, ()) {
    const ParameterSet set = *rc::gen::element(paper(), other_set());
    const Frame frame = any_frame(set);
    const Bytes bytes = encode(frame, shapes(set));
    RC_ASSERT(bytes.size() == 4 + little_endian(Bytes(bytes.begin(), bytes.begin() + 4)));
    RC_ASSERT(decode(bytes, shapes(set)) == frame);
}

/// Decodes; if that succeeds the bytes must be the encoding of the frame. True if it succeeded.
bool is_canonical_or_refused(const Bytes& bytes, const ParameterSet& set) {
    try {
        const Frame frame = decode(bytes, shapes(set));
        RC_ASSERT(encode(frame, shapes(set)) == bytes);
        return true;
    } catch (const DecodeError&) {
        return false;
    }
}

RC_GTEST_PROP(WireRefusals, WIRE_8_any_bytes_are_one_canonical_frame_or_refused, ()) {
    const ParameterSet set = *rc::gen::element(paper(), other_set());
    const auto body = *rc::gen::arbitrary<Bytes>();
    is_canonical_or_refused(body, set);
    Bytes framed = {static_cast<std::uint8_t>(body.size() + 1), 0, 0, 0,
                    *rc::gen::inRange<std::uint8_t>(0, 9)};
    framed.insert(framed.end(), body.begin(), body.end());
    is_canonical_or_refused(framed, set);
}

RC_GTEST_PROP(WireRefusals, WIRE_8_a_changed_frame_is_another_canonical_frame_or_refused, ()) {
    const ParameterSet set = *rc::gen::element(paper(), other_set());
    Bytes bytes = encode(any_frame(set), shapes(set));
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<std::uint8_t>();
    is_canonical_or_refused(bytes, set);
    bytes.push_back(0);
    RC_ASSERT(!is_canonical_or_refused(bytes, set));
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() - 1));
    is_canonical_or_refused(bytes, set);
}

RC_GTEST_PROP(WireRefusals, WIRE_8_no_part_of_a_frame_is_a_frame, ()) {
    const Bytes bytes = encode(any_frame(paper()), shapes());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const std::span<const std::uint8_t> part(bytes.data(), size);
        RC_ASSERT_THROWS_AS(decode(part, shapes()), DecodeError);
    }
}

struct Example {
    bool valid;
    std::string description;
    Bytes bytes;
};

/// The blocks marked `hex` and `hex-invalid` of a chapter.
std::vector<Example> examples_of(std::istream& chapter) {
    std::vector<Example> examples;
    std::string hex;
    bool inside = false;
    for (std::string line; std::getline(chapter, line);) {
        if (line.starts_with("```hex")) {
            inside = true;
            hex.clear();
            examples.push_back({!line.starts_with("```hex-invalid"), line.substr(3), {}});
        } else if (inside && line.starts_with("```")) {
            inside = false;
            examples.back().bytes = from_hex(hex);
        } else if (inside) {
            hex += line;
        }
    }
    return examples;
}

TEST(WireExamples, WIRE_10_the_examples_of_the_chapter) {
#ifdef SLIP_SOURCE_DIR
    std::ifstream chapter(std::string(SLIP_SOURCE_DIR) + "/spec/wire.md");
#else
    std::ifstream chapter("spec/wire.md");
#endif
    if (!chapter) GTEST_SKIP() << "spec/wire.md was not found";
    const auto examples = examples_of(chapter);
    EXPECT_GE(examples.size(), 20U);
    for (const auto& [valid, description, bytes] : examples) {
        SCOPED_TRACE(description);
        if (valid) {
            EXPECT_EQ(encode(decode(bytes, shapes()), shapes()), bytes);
        } else {
            EXPECT_THROW(decode(bytes, shapes()), DecodeError);
        }
    }
}

}  // namespace
}  // namespace slip::reference
