// Every decoder of frames: WIRE-8, decoding is total and encode(decode(frame)) = frame.
#include <algorithm>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/fuzz/session.hpp"

namespace slip::fuzz::frames_fuzz {
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
Bytes columns_again(FrameType type, Payload payload) {
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    const std::size_t residues =
        (payload.size() + wire::length_bytes - wire::columns_header_bytes) / planes;
    const std::size_t rows = std::max<std::size_t>(1, residues / header.columns);
    const auto decoded = wire::decode_residues(payload, header, planes, rows);
    for (std::size_t at = 0; at < decoded.size(); ++at) {
        expect(decoded[at] < primes[at / rows % planes], "WIRE-8: a residue is not canonical");
    }
    return columns_frame(type, header, decoded);
}

/// What encoding gives for the decoded `payload`, a length field included.
Bytes encode_again(FrameType type, Payload payload) {
    if (type == FrameType::hello) return wire::encode_hello(wire::decode_hello(payload));
    if (type == FrameType::refuse) return wire::encode_refuse(wire::decode_refuse(payload));
    if (type == FrameType::apply || type == FrameType::reply) return columns_again(type, payload);
    wire::decode_empty(type, payload);
    return wire::encode_empty(type);
}

/// A frame of one type is no frame of the next.
void require_no_other_type(FrameType type, Payload payload) {
    const auto code = static_cast<unsigned>(type);
    const auto next = static_cast<FrameType>(1 + code % 7);
    expect(!accepts<ProtocolError>([&] { encode_again(next, payload); }), "a frame has two types");
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

}  // namespace

const std::size_t allowance = std::size_t{1} << 12;

std::vector<Bytes> seeds() {
    wire::Hello greeting = hello;
    greeting.digest.fill(0x5a);
    std::vector<Bytes> frames{wire::encode_hello(greeting),
                              wire::encode_refuse(wire::Refusal::busy)};
    for (const FrameType type : {FrameType::ready, FrameType::abort, FrameType::close}) {
        frames.push_back(wire::encode_empty(type));
    }
    for (const FrameType type : {FrameType::apply, FrameType::reply}) {
        frames.push_back(columns_frame(type, {7, 2, 1}, Residues{0, 250, 240, 1, 238, 5, 232, 6}));
    }
    std::vector<Bytes> inputs;
    for (const Bytes& frame : frames) inputs.push_back(payload_of(frame));
    return inputs;
}

/// An input is a frame without its length field.
bool check(Payload payload) {
    check_length(payload);
    FrameType type{};
    Bytes frame;
    const auto decode = [&] {
        type = wire::frame_type(payload);
        frame = encode_again(type, payload);
    };
    if (!accepts<ProtocolError>(decode)) return false;
    require_no_other_type(type, payload);
    std::uint32_t length = 0;
    std::memcpy(&length, frame.data(), sizeof length);
    expect(length == payload.size() && std::equal(payload.begin(), payload.end(),
                                                  frame.begin() + wire::length_bytes, frame.end()),
           "WIRE-8: what was decoded and encoded again is another frame");
    return true;
}

const Target target{"frames_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::frames_fuzz
