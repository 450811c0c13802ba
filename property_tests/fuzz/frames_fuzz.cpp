// Every decoder of spec/wire.md: WIRE-8, decoding is total and encode(decode(frame)) = frame.
#include <algorithm>
#include <array>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace slip::fuzz {
namespace {

using wire::FrameType;

/// A frame without its length field.
Bytes payload_of(std::span<const std::byte> frame) {
    return {frame.begin() + wire::length_bytes, frame.end()};
}

/// What encoding gives for the decoded `payload`, a length field included. Columns have as many
/// rows as the payload has room for, which is what a receiver who knows the shapes would expect.
Bytes encode_again(FrameType type, std::span<const std::byte> payload) {
    if (type == FrameType::hello) return wire::encode_hello(wire::decode_hello(payload));
    if (type == FrameType::refuse) return wire::encode_refuse(wire::decode_refuse(payload));
    if (type != FrameType::apply && type != FrameType::reply) {
        wire::decode_empty(type, payload);
        return wire::encode_empty(type);
    }
    const wire::ColumnsHeader header = wire::decode_columns_header(type, payload);
    const std::size_t residues =
        (payload.size() + wire::length_bytes - wire::columns_header_bytes) / 4;
    const std::size_t rows = std::max<std::size_t>(1, residues / header.columns);
    wire::require_columns_length(Profile::p31, payload, header, rows);  // before memory is reserved
    std::vector<std::uint32_t> out(header.columns * rows);
    wire::decode_residues(payload, header, rows, out);
    Bytes frame(wire::columns_frame_bytes(std::span(out).size_bytes()));
    wire::encode_columns(type, header, out, frame);
    return frame;
}

/// A frame of one type is no frame of the next.
void require_no_other_type(FrameType type, std::span<const std::byte> payload) {
    const auto next = static_cast<FrameType>(1 + static_cast<unsigned>(type) % 7);
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
    std::vector<Bytes> payloads;
    wire::Hello hello;
    hello.digest.fill(0x5a);
    payloads.push_back(payload_of(wire::encode_hello(hello)));
    payloads.push_back(payload_of(wire::encode_refuse(wire::Refusal::busy)));
    for (const FrameType type : {FrameType::ready, FrameType::abort, FrameType::close}) {
        payloads.push_back(payload_of(wire::encode_empty(type)));
    }
    const std::array<std::uint32_t, 6> residues{0, 1, 2147483646, 5, 6, 7};
    for (const FrameType type : {FrameType::apply, FrameType::reply}) {
        Bytes frame(wire::columns_frame_bytes(std::span(residues).size_bytes()));
        wire::encode_columns(type, {7, 2, 3}, residues, frame);
        payloads.push_back(payload_of(frame));
    }
    return payloads;
}

bool check(std::span<const std::byte> input) {
    check_length(input);
    FrameType type{};
    Bytes frame;
    if (!accepts<ProtocolError>([&] {
            type = wire::frame_type(input);
            frame = encode_again(type, input);
        })) {
        return false;
    }
    require_no_other_type(type, input);
    std::uint32_t length = 0;
    std::memcpy(&length, frame.data(), sizeof length);
    expect(length == input.size() && std::equal(input.begin(), input.end(),
                                                frame.begin() + wire::length_bytes, frame.end()),
           "WIRE-8: what was decoded and encoded again is another frame");
    return true;
}

}  // namespace slip::fuzz
