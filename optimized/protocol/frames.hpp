// The frames of spec/wire.md. Decoders are total: any byte string is either one canonical frame or
// a ProtocolError that names the frame and field. Residues are copied nowhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/base/product_shape.hpp"
#include "slip/error.hpp"

namespace slip::protocol {

/// SHA-256 of David's weight file (SESS-2).
using Digest = std::array<std::uint8_t, 32>;

/// Columns that fit one message to a group of this shape, such that APPLY and REPLY stay within
/// PARAM-3; 0 if not one fits. Requires: a column has at least one element, before and after.
inline std::size_t columns_that_fit(const base::ProductShape& shape, std::size_t planes) {
    const std::size_t longest = std::max(shape.inputs(), shape.outputs());
    return std::min(base::parameters::largest_columns,
                    base::parameters::largest_residue_bytes / (planes * longest));
}

}  // namespace slip::protocol

namespace slip::protocol::wire {

enum class FrameType : std::uint8_t {
    hello = 1,   // WIRE-2
    ready = 2,   // WIRE-3
    apply = 3,   // WIRE-4
    reply = 4,   // WIRE-5
    abort = 5,   // WIRE-6
    close = 6,   // WIRE-6
    refuse = 7,  // WIRE-7
};

/// WIRE-7: why David ends a session.
using slip::Refusal;
const char* describe(Refusal reason);

/// Bytes of the length field that begins every frame (WIRE-1).
inline constexpr std::size_t length_bytes = 4;
/// Bytes of HELLO behind the length field: type, magic, version, set, digest (WIRE-2).
inline constexpr std::size_t hello_bytes = 1 + 4 + 2 + 1 + 32;
/// Bytes of APPLY and REPLY before the residues: length, type, sequence, group, columns.
inline constexpr std::size_t columns_header_bytes = 4 + 1 + 8 + 4 + 4;
/// Bytes that may follow the length field of any frame (WIRE-1).
inline constexpr std::size_t max_frame_length = base::parameters::largest_residue_bytes + 64;

/// Decoded, `version` and `set` may hold any value: David compares them and says why he refuses
/// (WIRE-2).
struct Hello {
    std::uint16_t version = base::parameters::protocol_version;
    std::uint8_t set = 0;  // its code (PARAM-1)
    Digest digest{};
    friend bool operator==(const Hello&, const Hello&) = default;
};

/// The fields that APPLY and REPLY share; the residues follow, column by column.
struct ColumnsHeader {
    std::uint64_t sequence = 0;
    base::GroupId group = 0;
    std::uint32_t columns = 0;
    friend bool operator==(const ColumnsHeader&, const ColumnsHeader&) = default;
};

/// Whole frames, length field included.
std::vector<std::byte> encode_hello(const Hello& hello);
std::vector<std::byte> encode_refuse(Refusal reason);
/// READY, ABORT and CLOSE, which have no body.
std::vector<std::byte> encode_empty(FrameType type);

/// Size of a whole APPLY or REPLY whose residues take `residue_bytes` bytes together.
constexpr std::size_t columns_frame_bytes(std::size_t residue_bytes) {
    return columns_header_bytes + residue_bytes;
}
/// Writes all but the residues of an APPLY or REPLY that fills `frame`, and returns where they
/// belong: they lie on the wire as they do in memory (WIRE-8).
std::span<std::uint8_t> begin_columns(FrameType type, const ColumnsHeader& header,
                                      std::span<std::byte> frame);
/// Where they are in a whole frame of that kind; nowhere if there is no frame.
std::span<const std::uint8_t> residues_of(std::span<const std::byte> frame);

/// WIRE-9: the length field, checked against the largest frame that the caller can accept now.
/// `max_length` counts the bytes after the length field. Throws ProtocolError.
std::size_t decode_length(std::span<const std::byte, length_bytes> field, std::size_t max_length);

/// `payload` is a frame without its length field: type and body. Throws ProtocolError if empty or
/// of an unknown type.
FrameType frame_type(std::span<const std::byte> payload);
Hello decode_hello(std::span<const std::byte> payload);
Refusal decode_refuse(std::span<const std::byte> payload);
/// Checks that a READY, ABORT or CLOSE has no body.
void decode_empty(FrameType type, std::span<const std::byte> payload);
/// The header only, so that the caller can learn the group before the shapes are checked.
ColumnsHeader decode_columns_header(FrameType type, std::span<const std::byte> payload);
/// The residues of an APPLY or REPLY whose columns have `rows` elements of `planes` planes each,
/// where they lie in `payload`. Throws ProtocolError unless the length is that of header.columns
/// such columns and within PARAM-3, and every byte is below its prime (WIRE-8).
std::span<const std::uint8_t> decode_residues(std::span<const std::byte> payload,
                                              const ColumnsHeader& header, std::size_t planes,
                                              std::size_t rows);

}  // namespace slip::protocol::wire
