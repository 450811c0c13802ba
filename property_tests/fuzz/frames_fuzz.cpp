// Every decoder of both links in both profiles: WIRE-8, decoding is total and
// encode(decode(frame)) = frame.
#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz {
namespace {

namespace wire = protocol::wire;
using protocol::wire::FrameType;
using Payload = std::span<const std::byte>;

/// A frame without its length field.
Bytes payload_of(std::span<const std::byte> frame) {
    return {frame.begin() + wire::length_bytes, frame.end()};
}

/// APPLY or REPLY, decoded and encoded again. Columns have as many rows as the payload has room
/// for, which is what a receiver who knows the shapes would expect.
template <class P>
Bytes columns_again(FrameType type, Payload payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    const std::size_t residues =
        (payload.size() + wire::length_bytes - wire::columns_header_bytes) /
        sizeof(typename P::Residue);
    const std::size_t rows = std::max<std::size_t>(1, residues / header.columns);
    wire::require_columns_length<P>(payload, header, rows);  // before memory is reserved
    std::vector<typename P::Residue> out(header.columns * rows);
    wire::decode_residues<P>(payload, header, rows, out);
    return columns_frame<P>(type, header, out);
}

/// KEY, decoded and encoded again.
Bytes key_again(Payload payload) {
    std::array<std::uint8_t, 32> key{};
    const wire::KeyHeader header = wire::decode_key(payload, key);
    std::array<std::byte, wire::length_bytes + wire::key_frame_bytes> frame{};
    wire::encode_key(header, key, frame);
    return {frame.begin(), frame.end()};
}

Bytes request_again(Payload payload) {
    std::array<std::byte, wire::columns_header_bytes> frame{};
    wire::encode_request(wire::decode_request(payload), frame);
    return {frame.begin(), frame.end()};
}

/// What encoding gives for the decoded `payload`, a length field included.
Bytes encode_again(Profile profile, FrameType type, Payload payload) {
    if (type == FrameType::hello) return wire::encode_hello(wire::decode_hello(payload));
    if (type == FrameType::refuse) return wire::encode_refuse(wire::decode_refuse(payload));
    if (type == FrameType::key) return key_again(payload);
    if (type == FrameType::request) return request_again(payload);
    if (type != FrameType::apply && type != FrameType::reply && type != FrameType::cancellations) {
        wire::decode_empty(type, payload);
        return wire::encode_empty(type);
    }
    return protocol::with_profile(
        profile, [&](auto p) { return columns_again<decltype(p)>(type, payload); });
}

/// A frame of one type is no frame of the next.
void require_no_other_type(Profile profile, FrameType type, Payload payload) {
    const auto code = static_cast<unsigned>(type);
    const auto next = static_cast<FrameType>(code < 8 ? 1 + code % 7 : 0x11 + (code - 0x10) % 3);
    expect(!accepts<ProtocolError>([&] { encode_again(profile, next, payload); }),
           "a frame has two types");
}

void check_length(std::span<const std::byte> input) {
    if (input.size() < wire::length_bytes) return;
    std::uint32_t announced = 0;
    std::memcpy(&announced, input.data(), sizeof announced);
    for (const std::size_t most : {std::size_t{2}, std::size_t{40}, wire::max_frame_length}) {
        std::size_t length = 0;
        const bool accepted = accepts<ProtocolError>(
            [&] { length = wire::decode_length(input.first<wire::length_bytes>(), most); });
        expect(accepted == (announced >= 1 && announced <= most), "WIRE-9: the bound of a length");
        expect(!accepted || length == announced, "a length is decoded as another");
    }
}

void add_columns(std::vector<Bytes>& inputs, Profile profile) {
    for (const FrameType type : {FrameType::apply, FrameType::reply, FrameType::cancellations}) {
        const Bytes frame = protocol::with_profile(profile, [&]<class P>(P) {
            const std::vector<typename P::Residue> residues{0, 1, P::p - 1, 5, 6, 7};
            return columns_frame<P>(type, {7, 2, 3}, residues);
        });
        const bool offline = type == FrameType::cancellations;
        inputs.push_back(input_of(profile, payload_of(frame), offline));
    }
}

void add_offline(std::vector<Bytes>& inputs) {
    std::array<std::byte, wire::length_bytes + wire::key_frame_bytes> key{};
    wire::encode_key({}, std::array<std::uint8_t, 32>{1, 2, 3}, key);
    std::array<std::byte, wire::columns_header_bytes> request{};
    wire::encode_request({5, 1, 4096}, request);
    for (const std::span<const std::byte> frame :
         {std::span<const std::byte>(key), std::span<const std::byte>(request)}) {
        inputs.push_back(input_of(Profile::p31, payload_of(frame), true));
    }
    const Bytes ready = wire::encode_empty(FrameType::ready);
    inputs.push_back(input_of(Profile::p31, payload_of(ready), true));
}

}  // namespace

const std::size_t allowance = std::size_t{1} << 12;

std::vector<Bytes> seeds() {
    std::vector<Bytes> inputs;
    wire::Hello hello;
    hello.digest.fill(0x5a);
    std::vector<Bytes> frames{wire::encode_hello(hello), wire::encode_refuse(wire::Refusal::busy)};
    for (const FrameType type : {FrameType::ready, FrameType::abort, FrameType::close}) {
        frames.push_back(wire::encode_empty(type));
    }
    for (const Bytes& frame : frames) inputs.push_back(input_of(Profile::p31, payload_of(frame)));
    for (const Profile profile : {Profile::p31, Profile::p61}) add_columns(inputs, profile);
    add_offline(inputs);
    return inputs;
}

bool check(std::span<const std::byte> bytes) {
    const SessionInput input = session_input(bytes);
    const Payload payload = input.stream;
    check_length(payload);
    FrameType type{};
    Bytes frame;
    const auto decode = [&] {
        type = input.offline ? wire::offline_frame_type(payload) : wire::frame_type(payload);
        frame = encode_again(input.profile, type, payload);
    };
    if (!accepts<ProtocolError>(decode)) return false;
    require_no_other_type(input.profile, type, payload);
    std::uint32_t length = 0;
    std::memcpy(&length, frame.data(), sizeof length);
    expect(length == payload.size() && std::equal(payload.begin(), payload.end(),
                                                  frame.begin() + wire::length_bytes, frame.end()),
           "WIRE-8: what was decoded and encoded again is another frame");
    return true;
}

}  // namespace slip::fuzz
