// Any frame as one value, encoded and decoded by optimized/ and by reference/.
#pragma once

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "optimized/protocol/frames.hpp"
#include "property_tests/generators/protocol_fixture.hpp"
#include "reference/wire.hpp"

namespace slip::testing {

using protocol::wire::FrameType;

inline const std::vector<FrameType> all_types = {
    FrameType::hello, FrameType::ready, FrameType::apply, FrameType::reply,
    FrameType::abort, FrameType::close, FrameType::refuse};

/// The shapes of the groups, which a session in the set `paper` knows when it decodes.
using Groups = std::vector<Shape>;

/// Any frame, decoded; the fields that its type lacks keep their defaults.
struct Frame {
    explicit Frame(FrameType t) : type(t) {}
    explicit Frame(const protocol::wire::Hello& h) : type(FrameType::hello), hello(h) {}
    Frame(FrameType t, const protocol::wire::ColumnsHeader& h, Residues r)
        : type(t), header(h), residues(std::move(r)) {}

    FrameType type;
    protocol::wire::Hello hello;
    protocol::wire::ColumnsHeader header;
    Residues residues;
    protocol::wire::Refusal refusal = protocol::wire::Refusal::version;
    friend bool operator==(const Frame&, const Frame&) = default;
};

inline Bytes encode_columns(const Frame& frame) {
    Bytes bytes(protocol::wire::columns_frame_bytes(frame.residues.size()));
    const auto place = protocol::wire::begin_columns(frame.type, frame.header, bytes);
    std::copy(frame.residues.begin(), frame.residues.end(), place.begin());
    return bytes;
}

inline Bytes encode(const Frame& frame) {
    switch (frame.type) {
        case FrameType::hello:
            return protocol::wire::encode_hello(frame.hello);
        case FrameType::refuse:
            return protocol::wire::encode_refuse(frame.refusal);
        case FrameType::apply:
        case FrameType::reply:
            return encode_columns(frame);
        default:
            return protocol::wire::encode_empty(frame.type);
    }
}

inline void decode_message(std::span<const std::byte> payload, const Groups& groups, Frame& frame) {
    frame.header = protocol::wire::decode_columns_header(frame.type, payload);
    if (frame.header.group >= groups.size()) throw ProtocolError("unknown group");
    const Shape& shape = groups[frame.header.group];
    const std::size_t rows = frame.type == FrameType::apply ? shape.n : shape.rows;
    const auto residues =
        protocol::wire::decode_residues(payload, frame.header, paper_planes, rows);
    frame.residues.assign(residues.begin(), residues.end());
}

/// The frame that `bytes` are, by optimized/. Throws ProtocolError and nothing else.
inline Frame decode(std::span<const std::byte> bytes, const Groups& groups) {
    if (bytes.size() < protocol::wire::length_bytes) throw ProtocolError("no length");
    const std::size_t length = protocol::wire::decode_length(
        bytes.first<protocol::wire::length_bytes>(), protocol::wire::max_frame_length);
    const auto payload = bytes.subspan(protocol::wire::length_bytes);
    if (payload.size() != length) throw ProtocolError("the length lies");
    Frame frame(protocol::wire::frame_type(payload));
    switch (frame.type) {
        case FrameType::hello:
            frame.hello = protocol::wire::decode_hello(payload);
            break;
        case FrameType::refuse:
            frame.refusal = protocol::wire::decode_refuse(payload);
            break;
        case FrameType::apply:
        case FrameType::reply:
            decode_message(payload, groups, frame);
            break;
        default:
            protocol::wire::decode_empty(frame.type, payload);
    }
    return frame;
}

inline std::optional<Frame> try_decode(const Bytes& bytes, const Groups& groups) {
    try {
        return decode(bytes, groups);
    } catch (const ProtocolError&) {
        return std::nullopt;
    }
}

// ---- the same by reference/

inline reference::Shapes to_reference_shapes(const Groups& groups) {
    reference::Shapes shapes{reference::paper(), {}};
    for (base::GroupId g = 0; g < groups.size(); ++g) {
        shapes.groups[g] = {groups[g].n, groups[g].rows};
    }
    return shapes;
}

struct FromReference {
    template <class Message>
    Frame message(FrameType type, const Message& message) const {
        Frame frame(type);
        frame.header = {message.sequence, message.group,
                        static_cast<std::uint32_t>(message.residues.cols())};
        frame.residues = residues_from_reference(message.residues, paper_planes);
        return frame;
    }
    Frame operator()(const reference::Hello& hello) const {
        Frame frame(FrameType::hello);
        frame.hello = {hello.version, hello.set, hello.digest};
        return frame;
    }
    Frame operator()(const reference::Ready&) const { return Frame(FrameType::ready); }
    Frame operator()(const reference::Apply& apply) const {
        return message(FrameType::apply, apply);
    }
    Frame operator()(const reference::Reply& reply) const {
        return message(FrameType::reply, reply);
    }
    Frame operator()(const reference::Abort&) const { return Frame(FrameType::abort); }
    Frame operator()(const reference::Close&) const { return Frame(FrameType::close); }
    Frame operator()(const reference::Refuse& refuse) const {
        Frame frame(FrameType::refuse);
        frame.refusal = static_cast<protocol::wire::Refusal>(refuse.reason);
        return frame;
    }
};

inline std::span<const std::uint8_t> octets(const Bytes& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

inline std::optional<Frame> try_decode_by_reference(const Bytes& bytes, const Groups& groups) {
    try {
        return std::visit(FromReference(),
                          reference::decode(octets(bytes), to_reference_shapes(groups)));
    } catch (const reference::DecodeError&) {
        return std::nullopt;
    }
}

inline Bytes from_hex(const std::string& text) {
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

}  // namespace slip::testing
