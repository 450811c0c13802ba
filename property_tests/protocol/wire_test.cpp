// The frames of optimized/ against reference/, and byte by byte.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "property_tests/protocol/frame_codecs.hpp"

namespace slip::testing {
namespace {

using namespace protocol;

const Groups two_groups = {{.rows = 2, .n = 3}, {.rows = 5, .n = 1}};

wire::ColumnsHeader drawn_header(std::size_t groups, std::size_t least_columns) {
    const auto sequence = *any_number<std::uint64_t>(0, ~std::uint64_t{0}).as("sequence");
    const auto group = static_cast<base::GroupId>(*any_size(0, groups - 1).as("group"));
    return {sequence, group, static_cast<std::uint32_t>(*any_size(least_columns, 4).as("columns"))};
}

/// A canonical frame of this type, drawn within a property.
Frame drawn_frame(FrameType type) {
    Frame frame(type);
    if (type == FrameType::hello) {
        frame.hello.version = *any_number<std::uint16_t>(0, 65535).as("version");
        frame.hello.set = *any_number<std::uint8_t>(0, 255).as("set");
        const auto digest = *any_list<std::uint8_t>(32, 0, 255).as("digest");
        std::copy(digest.begin(), digest.end(), frame.hello.digest.begin());
    }
    if (type == FrameType::refuse) {
        frame.refusal = static_cast<wire::Refusal>(*any_size(1, 7).as("reason"));
    }
    if (type == FrameType::apply || type == FrameType::reply) {
        frame.header = drawn_header(2, 1);
        const Shape& shape = two_groups[frame.header.group];
        const std::size_t rows = type == FrameType::apply ? shape.n : shape.rows;
        frame.residues = drawn_residues(frame.header.columns, rows, paper_planes);
    }
    return frame;
}
Frame drawn_frame() { return drawn_frame(*rc::gen::elementOf(all_types).as("type")); }

/// What a stream or an attacker does to a frame.
struct Damage {
    enum Kind : unsigned { change, remove, insert, cut, trail };
    unsigned kind;
    std::size_t at;     // modulo the frame's size
    std::uint8_t byte;  // what is added to a byte, inserted, or the number of trailing bytes
};

void showValue(const Damage& damage, std::ostream& os) {
    constexpr const char* names[] = {"change", "remove", "insert", "cut", "trail"};
    os << names[damage.kind] << " at " << damage.at << " by " << +damage.byte;
}

rc::Gen<Damage> any_damage() {
    return rc::gen::resize(rc::kNominalSize, rc::gen::construct<Damage>(
                                                 rc::gen::inRange<unsigned>(0, 5), any_size(0, 60),
                                                 rc::gen::inRange<std::uint8_t>(1, 255)));
}

Bytes damaged(Bytes bytes, const Damage& damage) {
    if (bytes.empty()) return bytes;
    const auto at = static_cast<std::ptrdiff_t>(damage.at % bytes.size());
    switch (damage.kind) {
        case Damage::change:
            bytes[static_cast<std::size_t>(at)] ^= std::byte{damage.byte};
            break;
        case Damage::remove:
            bytes.erase(bytes.begin() + at);
            break;
        case Damage::insert:
            bytes.insert(bytes.begin() + at, std::byte{damage.byte});
            break;
        case Damage::cut:
            bytes.resize(static_cast<std::size_t>(at));
            break;
        default:  // trailing bytes, with a length field that agrees
            bytes.resize(bytes.size() + 1 + damage.byte % 9);
            bytes[0] = static_cast<std::byte>(bytes.size() - wire::length_bytes);
    }
    return bytes;
}

void require_same(const Bytes& bytes, const Groups& groups) {
    const auto frame = try_decode(bytes, groups);
    const auto by_reference = try_decode_by_reference(bytes, groups);
    RC_ASSERT(frame.has_value() == by_reference.has_value());
    if (!frame) return;
    RC_ASSERT(*frame == *by_reference);
    RC_ASSERT(encode(*frame) == bytes);
}

/// WIRE-1 to WIRE-7: each frame, both ways, in both implementations.
RC_GTEST_PROP(Frames, WIRE_8_round_trip_and_equal_the_reference, ()) {
    const Frame frame = drawn_frame();
    const Bytes bytes = encode(frame);
    RC_ASSERT(decode(bytes, two_groups) == frame);
    RC_ASSERT(try_decode_by_reference(bytes, two_groups) == frame);
    const reference::Bytes by_reference =
        reference::encode(reference::decode(octets(bytes), to_reference_shapes(two_groups)),
                          to_reference_shapes(two_groups));
    RC_ASSERT(std::equal(by_reference.begin(), by_reference.end(), octets(bytes).begin(),
                         octets(bytes).end()));
}

RC_GTEST_PROP(Frames, WIRE_8_damaged_frames_are_treated_as_by_the_reference, ()) {
    const Bytes bytes = encode(drawn_frame());
    const auto few = rc::gen::resize(4, rc::gen::container<std::vector<Damage>>(any_damage()));
    const auto attempts = *rc::gen::container<std::vector<std::vector<Damage>>>(few).as("attempts");
    for (const auto& damages : attempts) {
        Bytes received = bytes;
        for (const Damage& damage : damages) received = damaged(std::move(received), damage);
        require_same(received, two_groups);
    }
}

/// Messages without columns, to unknown groups, or a byte too long or too short for what they
/// announce.
RC_GTEST_PROP(Frames, WIRE_8_WIRE_9_headers_are_checked_as_by_the_reference, ()) {
    const auto type = *rc::gen::element(FrameType::apply, FrameType::reply).as("type");
    const wire::ColumnsHeader header = drawn_header(3, 0);
    const auto off = [](const char* name) {
        return *rc::gen::weightedElement<int>({{4, 0}, {1, -1}, {1, 1}}).as(name);
    };
    const int frame_off = off("frame length off by"), field_off = off("length field off by");
    const Shape shape = header.group < 2 ? two_groups[header.group] : Shape{1, 1};
    const auto residues = drawn_residues(
        header.columns, type == FrameType::apply ? shape.n : shape.rows, paper_planes);

    Bytes bytes(wire::columns_frame_bytes(residues.size()));
    const auto length = static_cast<std::uint32_t>(static_cast<int>(bytes.size()) - 4 + field_off);
    std::memcpy(bytes.data(), &length, 4);
    bytes[4] = static_cast<std::byte>(type);
    std::memcpy(bytes.data() + 5, &header.sequence, 8);
    std::memcpy(bytes.data() + 13, &header.group, 4);
    std::memcpy(bytes.data() + 17, &header.columns, 4);
    std::copy_n(std::as_bytes(std::span(residues)).data(), bytes.size() - 21, bytes.data() + 21);
    bytes.resize(static_cast<std::size_t>(static_cast<int>(bytes.size()) + frame_off));
    require_same(bytes, two_groups);
}

RC_GTEST_PROP(Frames, WIRE_8_random_bytes_are_treated_as_by_the_reference, ()) {
    const auto body = *rc::gen::arbitrary<std::vector<std::uint8_t>>().as("body");
    Bytes bytes(4);
    bytes[0] = static_cast<std::byte>(body.size() + 1);
    bytes.push_back(static_cast<std::byte>(*rc::gen::inRange(0, 10).as("type")));
    for (const std::uint8_t byte : body) bytes.push_back(static_cast<std::byte>(byte));
    require_same(bytes, two_groups);
    // Without a plausible start, too.
    require_same(Bytes(bytes.begin() + 5, bytes.end()), two_groups);
}

/// One frame of each type.
std::vector<Frame> example_frames() {
    std::vector<Frame> frames;
    for (const FrameType type : all_types) frames.emplace_back(type);
    for (Frame& frame : frames) {
        if (frame.type == FrameType::hello) frame.hello.digest.fill(0x5a);
        if (frame.type == FrameType::apply) {  // 2 columns of 4 planes of 3
            frame.residues = {0,   250, 77, 1, 240, 5, 238, 0, 1, 232, 2, 3,
                              100, 0,   9,  8, 7,   6, 5,   4, 3, 2,   1, 0};
        }
        if (frame.type == FrameType::reply) {
            frame.residues = {250, 3, 0, 240, 238, 1, 232, 2, 0, 1, 2, 3, 4, 5, 6, 7};
        }
        if (!frame.residues.empty()) frame.header = {300, 0, 2};
    }
    return frames;
}

/// Decoders are injective: whatever single byte of a frame changes, to whatever value, the result
/// is refused or is another frame, and that frame's only encoding is what was read.
TEST(Frames, WIRE_8_every_single_byte_change_is_refused_or_is_another_frame) {
    for (const Frame& frame : example_frames()) {
        const Bytes bytes = encode(frame);
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (unsigned change = 1; change < 256; ++change) {
                Bytes changed = bytes;
                changed[at] ^= static_cast<std::byte>(change);
                const auto decoded = try_decode(changed, two_groups);
                ASSERT_EQ(decoded, try_decode_by_reference(changed, two_groups));
                if (!decoded) continue;
                ASSERT_NE(*decoded, frame);
                ASSERT_EQ(encode(*decoded), changed);
            }
        }
    }
}

TEST(Frames, WIRE_8_residues_at_the_edge_of_every_field) {
    Residues largest(4 * 5);
    for (std::size_t at = 0; at < largest.size(); ++at) {
        largest[at] = static_cast<std::uint8_t>(primes[at / 5] - 1);
    }
    const Frame frame(FrameType::reply, {1, 1, 1}, largest);
    EXPECT_EQ(decode(encode(frame), two_groups), frame);
    for (std::size_t at = 0; at < largest.size(); ++at) {
        for (unsigned value = primes[at / 5]; value < 256; ++value) {
            Frame wrong = frame;
            wrong.residues[at] = static_cast<std::uint8_t>(value);
            EXPECT_FALSE(try_decode(encode(wrong), two_groups)) << at << " " << value;
            EXPECT_FALSE(try_decode_by_reference(encode(wrong), two_groups));
        }
    }
}

/// Other sets have other planes: each byte is compared with the prime of its own.
RC_GTEST_PROP(Frames, WIRE_8_residues_of_every_number_of_planes, ()) {
    const std::size_t planes = drawn_planes();
    const auto rows = *any_size(1, 40).as("rows");
    const auto columns = *any_size(1, 5).as("columns");
    const wire::ColumnsHeader header{0, 0, static_cast<std::uint32_t>(columns)};
    Frame frame(FrameType::apply, header, drawn_residues(columns, rows, planes));
    const auto decoded = [&] {
        const Bytes bytes = encode(frame);
        const auto residues = wire::decode_residues(std::span(bytes).subspan(wire::length_bytes),
                                                    header, planes, rows);
        return Residues(residues.begin(), residues.end());
    };
    RC_ASSERT(decoded() == frame.residues);
    const auto at = *any_size(0, frame.residues.size() - 1).as("place");
    frame.residues[at] = primes[at / rows % planes];
    RC_ASSERT_THROWS_AS(decoded(), ProtocolError);
}

TEST(Frames, WIRE_8_encoders_refuse_what_no_decoder_accepts) {
    const auto encoded = [](FrameType type, std::uint32_t columns, std::size_t residues) {
        return encode(Frame(type, {0, 0, columns}, Residues(residues)));
    };
    EXPECT_NO_THROW(encoded(FrameType::apply, 1, 4));
    EXPECT_THROW(encoded(FrameType::apply, 1, 0), InternalError);
    EXPECT_THROW(encoded(FrameType::apply, 0, 4), InternalError);
    EXPECT_THROW(encoded(FrameType::apply, 2, 3), InternalError);
    EXPECT_THROW(encoded(FrameType::reply, 4097, 4 * 4097), InternalError);
    EXPECT_THROW(encoded(FrameType::reply, 1, (std::size_t{1} << 26) + 1), InternalError);
    EXPECT_NO_THROW(encoded(FrameType::reply, 1, std::size_t{1} << 26));
    EXPECT_THROW(wire::encode_refuse(static_cast<wire::Refusal>(8)), InternalError);
    EXPECT_THROW(wire::encode_empty(FrameType::apply), InternalError);
    Bytes frame(wire::columns_header_bytes + 4);
    EXPECT_THROW(wire::begin_columns(FrameType::hello, {0, 0, 1}, frame), InternalError);
    EXPECT_THROW(wire::begin_columns(FrameType::apply, {0, 0, 1}, std::span(frame).first(20)),
                 InternalError);
}

TEST(Frames, WIRE_4_the_residues_of_a_frame_are_what_follows_the_header) {
    Bytes frame(wire::columns_header_bytes + 4);
    const auto place = wire::begin_columns(FrameType::apply, {0, 0, 1}, frame);
    const auto found = wire::residues_of(frame);
    EXPECT_EQ(found.data(), place.data());
    EXPECT_EQ(found.size(), 4U);
    EXPECT_TRUE(wire::residues_of({}).empty());
    EXPECT_TRUE(wire::residues_of(std::span(frame).first(5)).empty());
}

/// The frames without residues, byte by byte.
TEST(Frames, WIRE_1_WIRE_2_WIRE_3_WIRE_6_WIRE_7_layouts) {
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::uint8_t>(i);
    std::string hello = "28000000 01 534c4950 0200 01";
    for (const char* part : {"00010203", "04050607", "08090a0b", "0c0d0e0f"}) hello += part;
    for (const char* part : {"10111213", "14151617", "18191a1b", "1c1d1e1f"}) hello += part;
    EXPECT_EQ(wire::encode_hello({2, 1, digest}), from_hex(hello));
    hello.replace(hello.find("0200 01"), 7, "0300 02");
    EXPECT_EQ(wire::encode_hello({3, 2, digest}), from_hex(hello)) << "any set may come";
    EXPECT_EQ(wire::encode_empty(FrameType::ready), from_hex("01000000 02"));
    EXPECT_EQ(wire::encode_empty(FrameType::abort), from_hex("01000000 05"));
    EXPECT_EQ(wire::encode_empty(FrameType::close), from_hex("01000000 06"));
    for (int reason = 1; reason <= 7; ++reason) {
        EXPECT_EQ(wire::encode_refuse(static_cast<wire::Refusal>(reason)),
                  from_hex("02000000 07 0" + std::to_string(reason)));
    }
}

/// CONV-2, WIRE-4 and WIRE-5, byte by byte, so that both implementations cannot err together.
TEST(Frames, CONV_2_integers_are_little_endian) {
    const Bytes bytes = encode(
        Frame(FrameType::apply, {0x0102030405060708, 0x0a0b0c0d, 1}, {0x44, 0x33, 0x22, 0x11}));
    const std::vector<int> expected = {21,   0,    0,    0,    3, 8, 7, 6, 5,    4,    3,    2,   1,
                                       0x0d, 0x0c, 0x0b, 0x0a, 1, 0, 0, 0, 0x44, 0x33, 0x22, 0x11};
    ASSERT_EQ(bytes.size(), expected.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << "byte " << i;
    }
}

TEST(Frames, PARAM_3_WIRE_9_lengths_are_bounded_before_anything_is_read) {
    const auto decode_length = [](std::uint32_t length, std::size_t most) {
        std::array<std::byte, 4> field{};
        std::memcpy(field.data(), &length, 4);
        return wire::decode_length(field, most);
    };
    EXPECT_EQ(decode_length(1, 40), 1U);
    EXPECT_EQ(decode_length(40, 40), 40U);
    EXPECT_THROW(decode_length(0, 40), ProtocolError);
    EXPECT_THROW(decode_length(41, 40), ProtocolError);
    EXPECT_EQ(decode_length((1U << 26) + 64, ~std::size_t{0}), (std::size_t{1} << 26) + 64);
    EXPECT_THROW(decode_length((1U << 26) + 65, ~std::size_t{0}), ProtocolError);
    EXPECT_THROW(decode_length(0xffffffff, ~std::size_t{0}), ProtocolError);
}

TEST(Frames, PARAM_3_WIRE_8_a_frame_of_4097_columns_is_refused) {
    constexpr std::uint32_t size = paper_planes;
    const Groups narrow = {{.rows = 1, .n = 1}};
    Bytes bytes = encode(Frame(FrameType::apply, {0, 0, 4096}, Residues(size * 4096)));
    EXPECT_TRUE(try_decode(bytes, narrow).has_value());
    bytes.resize(bytes.size() + size);
    const std::uint32_t length = 17 + size * 4097;
    const std::uint32_t columns = 4097;
    std::memcpy(bytes.data(), &length, 4);
    std::memcpy(bytes.data() + 17, &columns, 4);
    EXPECT_FALSE(try_decode(bytes, narrow).has_value());
    EXPECT_FALSE(try_decode_by_reference(bytes, narrow).has_value());
}

TEST(Frames, PARAM_3_a_message_holds_as_many_columns_as_both_directions_allow) {
    const auto columns = [](std::size_t n, std::size_t rows) {
        return columns_that_fit({rows, n}, 4);
    };
    EXPECT_EQ(columns(1, 1), 4096U);
    EXPECT_EQ(columns(4096, 4096), 4096U);
    EXPECT_EQ(columns(4097, 1), 4095U);
    EXPECT_EQ(columns(4096, 12288), 1365U);
    EXPECT_EQ(columns(std::size_t{1} << 20, 1), 16U);
    EXPECT_EQ(columns((std::size_t{1} << 24) + 1, 1), 0U);
    EXPECT_EQ(columns_that_fit({1, std::size_t{1} << 20}, 1), 64U);
    EXPECT_EQ(columns_that_fit({1, std::size_t{1} << 20}, 7), 9U);
}

TEST(Frames, CONV_4_errors_name_the_frame_and_the_place_and_no_residue) {
    Residues residues(2 * 4 * 2, 123);
    residues[(1 * 4 + 3) * 2 + 1] = 255;
    try {
        decode(encode(Frame(FrameType::reply, {1, 0, 2}, residues)), two_groups);
        FAIL() << "255 was accepted as a residue";
    } catch (const ProtocolError& error) {
        EXPECT_STREQ(error.what(),
                     "REPLY: the residue in plane 3 of column 1, row 1, is not below 233");
    }
}

}  // namespace
}  // namespace slip::testing
