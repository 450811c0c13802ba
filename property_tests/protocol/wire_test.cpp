// The frames of optimized/ against reference/ and against the examples of spec/wire.md.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "optimized/protocol/frames.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "reference/wire.hpp"

namespace slip::fixture {
namespace {

using wire::FrameType;

const std::vector<FrameType> all_types = {FrameType::hello, FrameType::ready, FrameType::apply,
                                          FrameType::reply, FrameType::abort, FrameType::close,
                                          FrameType::refuse};

/// What a session knows when it decodes.
struct Groups {
    Profile profile = Profile::p31;
    std::vector<Shape> shapes;
};

/// Any frame, decoded; the fields that its type lacks keep their defaults.
struct Frame {
    explicit Frame(FrameType t, Profile p = Profile::p31) : type(t), profile(p) {}
    explicit Frame(const wire::Hello& h) : type(FrameType::hello), hello(h) {}
    Frame(FrameType t, const wire::ColumnsHeader& h, std::vector<std::uint64_t> r,
          Profile p = Profile::p31)
        : type(t), profile(p), header(h), residues(std::move(r)) {}

    FrameType type;
    Profile profile = Profile::p31;
    wire::Hello hello;
    wire::ColumnsHeader header;
    std::vector<std::uint64_t> residues;
    wire::Refusal refusal = wire::Refusal::version;
    friend bool operator==(const Frame&, const Frame&) = default;
};

template <class P>
Bytes encode_columns(const Frame& frame) {
    const Residues<P> residues(frame.residues.begin(), frame.residues.end());
    Bytes bytes(wire::columns_frame_bytes(std::span(residues).size_bytes()));
    wire::encode_columns<P>(frame.type, frame.header, std::span(residues), bytes);
    return bytes;
}

Bytes encode(const Frame& frame) {
    switch (frame.type) {
        case FrameType::hello:
            return wire::encode_hello(frame.hello);
        case FrameType::refuse:
            return wire::encode_refuse(frame.refusal);
        case FrameType::apply:
        case FrameType::reply:
            return with_profile(frame.profile,
                                [&](auto p) { return encode_columns<decltype(p)>(frame); });
        default:
            return wire::encode_empty(frame.type);
    }
}

template <class P>
void decode_message(std::span<const std::byte> payload, const std::vector<Shape>& groups,
                    Frame& frame) {
    frame.header = wire::decode_columns_header(frame.type, payload);
    if (frame.header.group >= groups.size()) throw ProtocolError("unknown group");
    const Shape& shape = groups[frame.header.group];
    const std::size_t rows = frame.type == FrameType::apply ? shape.n : shape.rows;
    wire::require_columns_length<P>(payload, frame.header, rows);
    Residues<P> residues(frame.header.columns * rows);
    wire::decode_residues<P>(payload, frame.header, rows, std::span(residues));
    frame.residues.assign(residues.begin(), residues.end());
}

/// The frame that `bytes` are, by optimized/. Throws ProtocolError and nothing else.
Frame decode(std::span<const std::byte> bytes, const Groups& groups) {
    if (bytes.size() < wire::length_bytes) throw ProtocolError("no length");
    const std::size_t length =
        wire::decode_length(bytes.first<wire::length_bytes>(), wire::max_frame_length);
    const auto payload = bytes.subspan(wire::length_bytes);
    if (payload.size() != length) throw ProtocolError("the length lies");
    Frame frame(wire::frame_type(payload), groups.profile);
    switch (frame.type) {
        case FrameType::hello:
            frame.hello = wire::decode_hello(payload);
            break;
        case FrameType::refuse:
            frame.refusal = wire::decode_refuse(payload);
            break;
        case FrameType::apply:
        case FrameType::reply:
            with_profile(groups.profile, [&](auto p) {
                decode_message<decltype(p)>(payload, groups.shapes, frame);
            });
            break;
        default:
            wire::decode_empty(frame.type, payload);
    }
    return frame;
}

std::optional<Frame> try_decode(const Bytes& bytes, const Groups& groups) {
    try {
        return decode(bytes, groups);
    } catch (const ProtocolError&) {
        return std::nullopt;
    }
}

// ---- the same by reference/

reference::Shapes to_reference_shapes(const Groups& groups) {
    reference::Shapes shapes{reference_profile(groups.profile), {}};
    for (GroupId g = 0; g < groups.shapes.size(); ++g) {
        shapes.groups[g] = {groups.shapes[g].n, groups.shapes[g].rows};
    }
    return shapes;
}

struct FromReference {
    Profile profile;

    template <class Message>
    Frame message(FrameType type, const Message& message) const {
        Frame frame(type, profile);
        frame.header = {message.sequence, message.group,
                        static_cast<std::uint32_t>(message.residues.cols())};
        for (std::size_t c = 0; c < message.residues.cols(); ++c) {
            for (std::size_t i = 0; i < message.residues.rows(); ++i) {
                frame.residues.push_back(
                    message.residues(i, c).template convert_to<std::uint64_t>());
            }
        }
        return frame;
    }
    Frame operator()(const reference::Hello& hello) const {
        Frame frame(FrameType::hello, profile);
        frame.hello = {hello.version, static_cast<Profile>(hello.profile), hello.digest};
        return frame;
    }
    Frame operator()(const reference::Ready&) const { return Frame(FrameType::ready, profile); }
    Frame operator()(const reference::Apply& apply) const {
        return message(FrameType::apply, apply);
    }
    Frame operator()(const reference::Reply& reply) const {
        return message(FrameType::reply, reply);
    }
    Frame operator()(const reference::Abort&) const { return Frame(FrameType::abort, profile); }
    Frame operator()(const reference::Close&) const { return Frame(FrameType::close, profile); }
    Frame operator()(const reference::Refuse& refuse) const {
        Frame frame(FrameType::refuse, profile);
        frame.refusal = static_cast<wire::Refusal>(refuse.reason);
        return frame;
    }
};

std::span<const std::uint8_t> octets(const Bytes& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::optional<Frame> try_decode_by_reference(const Bytes& bytes, const Groups& groups) {
    try {
        return std::visit(FromReference{groups.profile},
                          reference::decode(octets(bytes), to_reference_shapes(groups)));
    } catch (const reference::DecodeError&) {
        return std::nullopt;
    }
}

// ---- generators

Bytes from_hex(const std::string& text) {
    std::string digits;
    for (const char c : text) {
        if (!std::isspace(static_cast<unsigned char>(c))) digits += c;
    }
    if (digits.size() % 2 != 0) throw std::invalid_argument("half a byte: " + text);
    Bytes bytes;
    for (std::size_t i = 0; i < digits.size(); i += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

template <class P>
const Groups two_groups = {profile_of<P>, {{.rows = 2, .n = 3}, {.rows = 5, .n = 1}}};

template <class P>
Frame random_frame(FrameType type, Random& random) {
    Frame frame(type, profile_of<P>);
    if (type == FrameType::hello) {
        frame.hello.version = static_cast<std::uint16_t>(random());
        frame.hello.profile = static_cast<Profile>(random() % 4);
        for (std::uint8_t& byte : frame.hello.digest) byte = static_cast<std::uint8_t>(random());
    }
    if (type == FrameType::refuse) {
        frame.refusal = static_cast<wire::Refusal>(uniform(random, 1, 7));
    }
    if (type == FrameType::apply || type == FrameType::reply) {
        frame.header = {random() >> (random() % 64), static_cast<std::uint32_t>(random() % 2),
                        uniform<std::uint32_t>(random, 1, 4)};
        const Shape& shape = two_groups<P>.shapes[frame.header.group];
        const std::size_t rows = type == FrameType::apply ? shape.n : shape.rows;
        frame.residues = numbers<std::uint64_t>(kinds[random() % 4], frame.header.columns * rows, 0,
                                                P::p - 1, random);
    }
    return frame;
}

template <class P>
Frame arbitrary_frame() {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    return random_frame<P>(*rc::gen::elementOf(all_types), random);
}

/// One of the damages that a stream or an attacker does.
Bytes damage(Bytes bytes, Random& random) {
    const auto at = [&] { return static_cast<std::ptrdiff_t>(random() % bytes.size()); };
    switch (random() % 5) {
        case 0:
            bytes[static_cast<std::size_t>(at())] ^= static_cast<std::byte>(1 + random() % 255);
            break;
        case 1:
            bytes.erase(bytes.begin() + at());
            break;
        case 2:
            bytes.insert(bytes.begin() + at(), static_cast<std::byte>(random()));
            break;
        case 3:
            bytes.resize(static_cast<std::size_t>(at()));
            break;
        default:  // trailing bytes, with a length field that agrees
            bytes.resize(bytes.size() + 1 + random() % 9);
            bytes[0] = static_cast<std::byte>(bytes.size() - wire::length_bytes);
    }
    return bytes;
}

void require_same(const Bytes& bytes, const Groups& groups) {
    const auto frame = try_decode(bytes, groups);
    RC_ASSERT(frame == try_decode_by_reference(bytes, groups));
    if (frame) RC_ASSERT(encode(*frame) == bytes);
}

// ---- properties

/// WIRE-1 to WIRE-7: each frame, both ways, in both implementations.
PROFILE_PROP(Frames, WIRE_8_round_trip_and_equal_the_reference) {
    const Frame frame = arbitrary_frame<P>();
    const Bytes bytes = encode(frame);
    RC_ASSERT(decode(bytes, two_groups<P>) == frame);
    RC_ASSERT(try_decode_by_reference(bytes, two_groups<P>) == frame);
    const reference::Bytes by_reference =
        reference::encode(reference::decode(octets(bytes), to_reference_shapes(two_groups<P>)),
                          to_reference_shapes(two_groups<P>));
    RC_ASSERT(std::equal(by_reference.begin(), by_reference.end(), octets(bytes).begin(),
                         octets(bytes).end()));
}

PROFILE_PROP(Frames, WIRE_8_damaged_frames_are_treated_as_by_the_reference) {
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (int i = 0; i < 100; ++i) {
        Bytes bytes = encode(random_frame<P>(all_types[random() % all_types.size()], random));
        for (std::uint64_t damages = random() % 3 + 1; damages > 0 && !bytes.empty(); --damages) {
            bytes = damage(std::move(bytes), random);
        }
        require_same(bytes, two_groups<P>);
    }
}

PROFILE_PROP(Frames, WIRE_8_random_bytes_are_treated_as_by_the_reference) {
    const auto body = *rc::gen::arbitrary<std::vector<std::uint8_t>>();
    Bytes bytes(4);
    bytes[0] = static_cast<std::byte>(body.size() + 1);
    bytes.push_back(static_cast<std::byte>(*rc::gen::inRange(0, 10)));
    for (const std::uint8_t byte : body) bytes.push_back(static_cast<std::byte>(byte));
    require_same(bytes, two_groups<P>);
    // Without a plausible start, too.
    require_same(Bytes(bytes.begin() + 5, bytes.end()), two_groups<P>);
}

/// Decoders are injective: whatever single byte of a frame changes, to whatever value, the result
/// is refused or is another frame, and that frame's only encoding is what was read.
PROFILE_TEST(Frames, WIRE_8_every_single_byte_change_is_refused_or_is_another_frame) {
    Random random(8);
    for (const FrameType type : all_types) {
        const Frame frame = random_frame<P>(type, random);
        const Bytes bytes = encode(frame);
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            for (unsigned change = 1; change < 256; ++change) {
                Bytes changed = bytes;
                changed[at] ^= static_cast<std::byte>(change);
                const auto decoded = try_decode(changed, two_groups<P>);
                ASSERT_EQ(decoded, try_decode_by_reference(changed, two_groups<P>));
                if (!decoded) continue;
                ASSERT_NE(*decoded, frame);
                ASSERT_EQ(encode(*decoded), changed);
            }
        }
    }
}

PROFILE_TEST(Frames, WIRE_8_residues_at_the_edge_of_the_ring) {
    const auto reply = [](const std::vector<std::uint64_t>& residues) {
        return Frame(FrameType::reply, {1, 1, 1}, residues, profile_of<P>);
    };
    for (const auto residue : Residues<P>{0, 1, P::p - 1}) {
        const Frame frame = reply({0, residue, 0, 0, residue});
        EXPECT_EQ(decode(encode(frame), two_groups<P>), frame);
    }
    constexpr auto all_ones = std::numeric_limits<typename P::Residue>::max();
    for (const auto residue : Residues<P>{P::p, P::p + 1, P::p * 2, all_ones}) {
        Bytes bytes = encode(reply({0, 0, 0, 0, 0}));
        std::memcpy(bytes.data() + bytes.size() - sizeof residue, &residue, sizeof residue);
        EXPECT_THROW(decode(bytes, two_groups<P>), ProtocolError);
    }
}

PROFILE_TEST(Frames, WIRE_8_encoders_refuse_what_no_decoder_accepts) {
    const auto encoded = [](FrameType type, std::uint32_t columns,
                            const std::vector<std::uint64_t>& residues) {
        return encode(Frame(type, {0, 0, columns}, residues, profile_of<P>));
    };
    EXPECT_NO_THROW(encoded(FrameType::apply, 1, {P::p - 1}));
    EXPECT_THROW(encoded(FrameType::apply, 1, {P::p}), InternalError);
    EXPECT_THROW(encoded(FrameType::apply, 1, {}), InternalError);
    EXPECT_THROW(encoded(FrameType::apply, 0, {1}), InternalError);
    EXPECT_THROW(encoded(FrameType::apply, 2, {1, 2, 3}), InternalError);
    EXPECT_THROW(encoded(FrameType::reply, 4097, std::vector<std::uint64_t>(4097)), InternalError);
    EXPECT_THROW(wire::encode_refuse(static_cast<wire::Refusal>(8)), InternalError);
    EXPECT_THROW(wire::encode_empty(FrameType::apply), InternalError);
    Bytes short_buffer(wire::columns_frame_bytes(sizeof(typename P::Residue)) - 1);
    const Residues<P> one = {1};
    EXPECT_THROW(wire::encode_columns<P>(FrameType::apply, {0, 0, 1}, std::span(one), short_buffer),
                 InternalError);
    EXPECT_THROW(wire::encode_columns<P>(FrameType::hello, {0, 0, 1}, std::span(one), short_buffer),
                 InternalError);
}

/// The frames without residues, byte by byte.
TEST(Frames, WIRE_1_WIRE_2_WIRE_3_WIRE_6_WIRE_7_layouts) {
    Digest digest{};
    for (std::size_t i = 0; i < digest.size(); ++i) digest[i] = static_cast<std::uint8_t>(i);
    std::string hello = "28000000 01 534c4950 0100 01";
    for (const char* part : {"00010203", "04050607", "08090a0b", "0c0d0e0f"}) hello += part;
    for (const char* part : {"10111213", "14151617", "18191a1b", "1c1d1e1f"}) hello += part;
    EXPECT_EQ(wire::encode_hello({1, Profile::p31, digest}), from_hex(hello));
    hello.replace(hello.find("0100 01"), 7, "0100 02");
    EXPECT_EQ(wire::encode_hello({1, Profile::p61, digest}), from_hex(hello));
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
    const Bytes bytes =
        encode(Frame(FrameType::apply, {0x0102030405060708, 0x0a0b0c0d, 1}, {0x11223344}));
    const std::vector<int> expected = {21,   0,    0,    0,    3, 8, 7, 6, 5,    4,    3,    2,   1,
                                       0x0d, 0x0c, 0x0b, 0x0a, 1, 0, 0, 0, 0x44, 0x33, 0x22, 0x11};
    ASSERT_EQ(bytes.size(), expected.size());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        EXPECT_EQ(std::to_integer<int>(bytes[i]), expected[i]) << "byte " << i;
    }
    const Bytes wide =
        encode(Frame(FrameType::apply, {1, 2, 1}, {0x1122334455667788 >> 1}, Profile::p61));
    EXPECT_EQ(wide, from_hex("19000000 03 0100000000000000 02000000 01000000 c43bb32aa2199108"));
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

PROFILE_TEST(Frames, PARAM_3_WIRE_8_a_frame_of_4097_columns_is_refused) {
    constexpr std::uint32_t size = sizeof(typename P::Residue);
    const Groups narrow = {profile_of<P>, {{.rows = 1, .n = 1}}};
    Bytes bytes = encode(
        Frame(FrameType::apply, {0, 0, 4096}, std::vector<std::uint64_t>(4096), profile_of<P>));
    EXPECT_TRUE(try_decode(bytes, narrow).has_value());
    bytes.resize(bytes.size() + size);
    const std::uint32_t length = 17 + size * 4097;
    const std::uint32_t columns = 4097;
    std::memcpy(bytes.data(), &length, 4);
    std::memcpy(bytes.data() + 17, &columns, 4);
    EXPECT_FALSE(try_decode(bytes, narrow).has_value());
    EXPECT_FALSE(try_decode_by_reference(bytes, narrow).has_value());
}

/// A frame that one profile accepts is of the wrong length in the other.
PROFILE_TEST(Frames, PARAM_1_WIRE_8_residues_have_the_width_of_the_profile) {
    const Bytes bytes = encode(Frame(FrameType::apply, {0, 0, 1}, {1, 2, 3}, profile_of<P>));
    EXPECT_TRUE(try_decode(bytes, two_groups<P>).has_value());
    EXPECT_FALSE(try_decode(bytes, two_groups<Other<P>>).has_value());
    EXPECT_FALSE(try_decode_by_reference(bytes, two_groups<Other<P>>).has_value());
}

TEST(Frames, PARAM_3_a_message_holds_as_many_columns_as_both_directions_allow) {
    const auto in_p31 = [](std::size_t n, std::size_t rows) {
        return columns_that_fit<P31>({rows, n});
    };
    EXPECT_EQ(in_p31(1, 1), 4096U);
    EXPECT_EQ(in_p31(4096, 4096), 4096U);
    EXPECT_EQ(in_p31(4097, 1), 4095U);
    EXPECT_EQ(in_p31(4096, 12288), 1365U);
    EXPECT_EQ(in_p31(std::size_t{1} << 20, 1), 16U);
    EXPECT_EQ(in_p31((std::size_t{1} << 24) + 1, 1), 0U);
    const auto in_p61 = [](std::size_t n, std::size_t rows) {
        return columns_that_fit<P61>({rows, n});
    };
    EXPECT_EQ(in_p61(1, 1), 4096U);
    EXPECT_EQ(in_p61(4096, 4096), 2048U);
    EXPECT_EQ(in_p61(std::size_t{1} << 20, 1), 8U);
    EXPECT_EQ(in_p61((std::size_t{1} << 23) + 1, 1), 0U);
}

TEST(Frames, CONV_4_errors_name_the_frame_and_no_residue) {
    Bytes bytes = encode(Frame(FrameType::reply, {1, 0, 1}, {1234567890, 5}));
    bytes.back() = std::byte{0xff};
    try {
        decode(bytes, two_groups<P31>);
        FAIL() << "a residue above 2^31 was accepted";
    } catch (const ProtocolError& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find("REPLY"), std::string::npos);
        EXPECT_EQ(text.find("1234567890"), std::string::npos);
    }
}

// ---- the examples of the chapter

struct Example {
    bool valid = false;
    std::string title;  // the words after "hex" or "hex-invalid"
    Bytes bytes;
};

std::vector<Example> examples_of_the_chapter() {
    std::ifstream chapter(std::string(SLIP_SOURCE_DIR) + "/spec/wire.md");
    std::vector<Example> examples;
    std::string hex;
    bool inside = false;
    for (std::string line; std::getline(chapter, line);) {
        if (!inside && line.rfind("```hex", 0) == 0) {
            inside = true;
            hex.clear();
            const bool valid = line.rfind("```hex ", 0) == 0;
            examples.push_back({valid, line.substr(line.find(' ') + 1), {}});
        } else if (inside && line == "```") {
            inside = false;
            examples.back().bytes = from_hex(hex);
        } else if (inside) {
            hex += line;
        }
    }
    return examples;
}

/// The profile and the shape that the title gives, "n=3" or "M=2", for the groups 0 to 2.
Groups shapes_of(const std::string& title) {
    Shape shape{.rows = 1, .n = 1};
    std::istringstream words(title);
    for (std::string word; words >> word;) {
        if (word.rfind("n=", 0) == 0) shape.n = std::stoul(word.substr(2));
        if (word.rfind("M=", 0) == 0) shape.rows = std::stoul(word.substr(2));
    }
    const bool wide = title.find("P61") != std::string::npos;
    return {wide ? Profile::p61 : Profile::p31, {shape, shape, shape}};
}

const char* type_name(FrameType type) {
    constexpr const char* names[] = {"",      "HELLO", "READY", "APPLY",
                                     "REPLY", "ABORT", "CLOSE", "REFUSE"};
    return names[static_cast<std::size_t>(type)];
}

TEST(Chapter, WIRE_10_examples_are_decoded_and_encoded_or_refused) {
    const std::vector<Example> examples = examples_of_the_chapter();
    std::map<std::string, int> valid;
    int invalid = 0;
    for (const Example& example : examples) {
        SCOPED_TRACE(example.title);
        const auto frame = try_decode(example.bytes, shapes_of(example.title));
        EXPECT_EQ(frame, try_decode_by_reference(example.bytes, shapes_of(example.title)));
        EXPECT_EQ(frame.has_value(), example.valid);
        invalid += !example.valid;
        if (!frame) continue;
        EXPECT_EQ(encode(*frame), example.bytes);
        const std::string name = example.title.substr(0, example.title.find(' '));
        EXPECT_EQ(name, type_name(frame->type));
        ++valid[name];
        if (name == "HELLO") {
            EXPECT_EQ(frame->hello.profile == Profile::p61, example.title == "HELLO P61");
        }
    }
    EXPECT_EQ(valid.size(), 7U) << "the chapter shows every frame";
    EXPECT_GE(invalid, 10);
}

/// The example of the chapter is the protocol: David's answer to the APPLY is the REPLY.
TEST(Chapter, WIRE_10_the_replies_are_davids_answers) {
    const std::vector<std::int8_t> w = {1, -2, 3, 0, 127, -127};
    DavidModel model;
    for (int g = 0; g < 3; ++g) model.weights.emplace_back(w.data(), 2U, 3U);
    const auto david = make_david_session(model);
    std::vector<Bytes> applies;
    std::vector<Bytes> replies;
    for (const Example& example : examples_of_the_chapter()) {
        if (example.valid && example.title == "APPLY P31 n=3") applies.push_back(example.bytes);
        if (example.valid && example.title == "REPLY P31 M=2") replies.push_back(example.bytes);
    }
    ASSERT_EQ(applies.size(), replies.size());
    ASSERT_GE(applies.size(), 1U);
    const Bytes hello = encode(Frame(wire::Hello{}));
    david->handle(std::span(hello).subspan(wire::length_bytes));
    for (std::size_t i = 0; i < applies.size(); ++i) {
        const auto reply = david->handle(std::span(applies[i]).subspan(wire::length_bytes));
        EXPECT_EQ(Bytes(reply.begin(), reply.end()), replies[i]);
    }
}

}  // namespace
}  // namespace slip::fixture
