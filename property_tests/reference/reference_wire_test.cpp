// The frames of the reference: bytes written out by hand, the examples of the chapter, round trips,
// and everything a decoder must refuse.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "property_tests/reference/other_profile.hpp"
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
Shapes shapes(const Profile& profile = p31()) { return {profile, {{0, {3, 2}}, {2, {3, 2}}}}; }

Digest digest_of(std::uint8_t first) {
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::uint8_t>(first + i);
    return digest;
}

void expect_bytes(const Frame& frame, const std::string& hex, const Profile& profile = p31()) {
    EXPECT_EQ(encode(frame, shapes(profile)), from_hex(hex));
    EXPECT_EQ(decode(from_hex(hex), shapes(profile)), frame);
}

TEST(WireFrames, WIRE_1_a_frame_is_length_type_and_body) {
    expect_bytes(Ready{}, "01000000 02");
    const Bytes hello = encode(Hello{}, shapes());
    EXPECT_EQ(hello.size(), 4U + 40U);
    EXPECT_EQ(Bytes(hello.begin(), hello.begin() + 4), from_hex("28000000"));
}

TEST(WireFrames, WIRE_2_hello) {
    expect_bytes(Hello{1, 1, digest_of(0)},
                 "28000000 01 534c4950 0100 01"
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

TEST(WireFrames, WIRE_4_apply_has_residues_of_the_profiles_width) {
    const Matrix two_columns{{6, 4}, {2147483645, 5}, {7, 0x01020304}};
    expect_bytes(Apply{0x0102030405060708, 2, two_columns},
                 "29000000 03 0807060504030201 02000000 02000000"
                 "06000000 fdffff7f 07000000  04000000 05000000 04030201");
    expect_bytes(Apply{0, 0, Matrix{{1}, {(Integer(1) << 56) - 6}, {0}}},
                 "26000000 03 0000000000000000 00000000 01000000"
                 "01000000000000 faffffffffffff 00000000000000",
                 other_profile());
}

TEST(WireFrames, WIRE_5_reply_has_the_rows_of_the_outputs) {
    expect_bytes(Reply{1, 2, Matrix{{31, 303306264}, {2147482504, 33686016}}},
                 "21000000 04 0100000000000000 02000000 02000000"
                 "1f000000 88fbff7f 18161412 00020202");
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
    expect_refused("28000000 01 534c4951 0100 01" + digest, DecodeReason::wrong_magic);
    expect_refused("28000000 01 734c4950 0100 01" + digest, DecodeReason::wrong_magic);
    expect_refused("27000000 01 534c4950 0100 01" + digest.substr(2), DecodeReason::wrong_length);
    expect_refused("29000000 01 534c4950 0100 01 00" + digest, DecodeReason::wrong_length);
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
    expect_refused("1d000000 03" + header + "00000000 ffffff7f 00000000",
                   DecodeReason::residue_not_canonical);
    expect_refused("1d000000 03" + header + "00000000 00000000 00000080",
                   DecodeReason::residue_not_canonical);
    expect_refused("1d000000 04" + header + "00000000 00000000 00000000",
                   DecodeReason::wrong_length);
    expect_refused("19000000 04" + header + "ffffff7f 00000000",
                   DecodeReason::residue_not_canonical);
}

TEST(WireRefusals, WIRE_8_a_message_above_the_limit_of_residue_bytes) {
    // 2^26 / 4 = 16777216 residues: 4096 columns of 4096 rows fit, one row more does not.
    const Shapes tall{p31(), {{0, {4097, 1}}, {1, {1, 4097}}}};
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
    EXPECT_THROW(encode(Apply{0, 0, Matrix{{0}, {p31().modulus}, {0}}}, shapes()),
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

Matrix any_residues(std::size_t rows, const Profile& profile) {
    Matrix residues(rows, *rc::gen::inRange<std::size_t>(1, 6));
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t t = 0; t < residues.cols(); ++t) {
            residues(i, t) = *rc::gen::arbitrary<std::uint64_t>() % profile.modulus;
        }
    }
    return residues;
}

Frame any_frame(const Profile& profile) {
    const auto sequence = *rc::gen::arbitrary<std::uint64_t>();
    const auto group = *rc::gen::element(0U, 2U);
    switch (*rc::gen::inRange(1, 8)) {
        case 1:
            return Hello{*rc::gen::arbitrary<std::uint16_t>(), *rc::gen::arbitrary<std::uint8_t>(),
                         digest_of(*rc::gen::arbitrary<std::uint8_t>())};
        case 2:
            return Ready{};
        case 3:
            return Apply{sequence, group, any_residues(3, profile)};
        case 4:
            return Reply{sequence, group, any_residues(2, profile)};
        case 5:
            return Abort{};
        case 6:
            return Close{};
        default:
            return Refuse{static_cast<RefuseReason>(*rc::gen::inRange(1, 8))};
    }
}

RC_GTEST_PROP(WireFrames, WIRE_8_every_frame_decodes_to_itself, ()) {
    const Profile profile = *rc::gen::element(p31(), other_profile());
    const Frame frame = any_frame(profile);
    const Bytes bytes = encode(frame, shapes(profile));
    RC_ASSERT(bytes.size() == 4 + little_endian(Bytes(bytes.begin(), bytes.begin() + 4)));
    RC_ASSERT(decode(bytes, shapes(profile)) == frame);
}

/// Decodes; if that succeeds the bytes must be the encoding of the frame. True if it succeeded.
bool is_canonical_or_refused(const Bytes& bytes, const Profile& profile) {
    try {
        const Frame frame = decode(bytes, shapes(profile));
        RC_ASSERT(encode(frame, shapes(profile)) == bytes);
        return true;
    } catch (const DecodeError&) {
        return false;
    }
}

RC_GTEST_PROP(WireRefusals, WIRE_8_any_bytes_are_one_canonical_frame_or_refused, ()) {
    const Profile profile = *rc::gen::element(p31(), other_profile());
    const auto body = *rc::gen::arbitrary<Bytes>();
    is_canonical_or_refused(body, profile);
    Bytes framed = {static_cast<std::uint8_t>(body.size() + 1), 0, 0, 0,
                    *rc::gen::inRange<std::uint8_t>(0, 9)};
    framed.insert(framed.end(), body.begin(), body.end());
    is_canonical_or_refused(framed, profile);
}

RC_GTEST_PROP(WireRefusals, WIRE_8_a_changed_frame_is_another_canonical_frame_or_refused, ()) {
    const Profile profile = *rc::gen::element(p31(), other_profile());
    Bytes bytes = encode(any_frame(profile), shapes(profile));
    bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<std::uint8_t>();
    is_canonical_or_refused(bytes, profile);
    bytes.push_back(0);
    RC_ASSERT(!is_canonical_or_refused(bytes, profile));
    bytes.resize(*rc::gen::inRange<std::size_t>(0, bytes.size() - 1));
    is_canonical_or_refused(bytes, profile);
}

RC_GTEST_PROP(WireRefusals, WIRE_8_no_part_of_a_frame_is_a_frame, ()) {
    const Bytes bytes = encode(any_frame(p31()), shapes());
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
