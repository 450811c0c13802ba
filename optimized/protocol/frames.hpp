// The frames of spec/wire.md, and those between Charlie and the offline David. Decoders are total:
// any byte string is either one canonical frame or a ProtocolError that names the frame and field.
// Nothing is copied that need not be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/protocol/profile.hpp"
#include "slip/error.hpp"

namespace slip::protocol::wire {

enum class FrameType : std::uint8_t {
    hello = 1,   // WIRE-2
    ready = 2,   // WIRE-3
    apply = 3,   // WIRE-4
    reply = 4,   // WIRE-5
    abort = 5,   // WIRE-6
    close = 6,   // WIRE-6
    refuse = 7,  // WIRE-7
    // With an offline David only.
    key = 0x11,            // OFF-2
    request = 0x12,        // OFF-3
    cancellations = 0x13,  // OFF-4
};

/// WIRE-7: why David ends a session.
using slip::Refusal;
const char* describe(Refusal reason);

/// Bytes of the length field that begins every frame (WIRE-1).
inline constexpr std::size_t length_bytes = 4;
/// Bytes of HELLO behind the length field: type, magic, version, profile, digest (WIRE-2).
inline constexpr std::size_t hello_bytes = 1 + 4 + 2 + 1 + 32;
/// Bytes of KEY behind the length field: type, magic, version, profile, digest, key (OFF-2).
inline constexpr std::size_t key_frame_bytes = hello_bytes + base::parameters::session_key_bytes;
/// Bytes of APPLY, REPLY and CANCELLATIONS before the residues: length, type, sequence or index,
/// group, columns. A REQUEST has nothing else.
inline constexpr std::size_t columns_header_bytes = 4 + 1 + 8 + 4 + 4;
/// Bytes of REQUEST behind the length field (OFF-3).
inline constexpr std::size_t request_bytes = columns_header_bytes - length_bytes;
/// Bytes that may follow the length field of any frame (WIRE-1).
inline constexpr std::size_t max_frame_length = base::parameters::largest_residue_bytes + 64;

/// Decoded, `version` and `profile` may hold any value: David compares them and says why he refuses
/// (WIRE-2).
struct Hello {
    std::uint16_t version = base::parameters::protocol_version;
    Profile profile = Profile::p31;
    Digest digest{};
    friend bool operator==(const Hello&, const Hello&) = default;
};

/// The fields of KEY before the key itself. As in HELLO, any version and profile may come.
using KeyHeader = Hello;

/// The fields that APPLY, REPLY, REQUEST and CANCELLATIONS share; the residues follow, column by
/// column.
struct ColumnsHeader {
    std::uint64_t sequence = 0;  // of REQUEST and CANCELLATIONS: the index of the first mask
    base::GroupId group = 0;
    std::uint32_t columns = 0;
    friend bool operator==(const ColumnsHeader&, const ColumnsHeader&) = default;
};

/// Whole frames, length field included.
std::vector<std::byte> encode_hello(const Hello& hello);
std::vector<std::byte> encode_refuse(Refusal reason);
/// Writes a KEY to `frame`, which is for the caller to wipe.
void encode_key(const KeyHeader& header, std::span<const std::uint8_t, 32> key,
                std::span<std::byte, length_bytes + key_frame_bytes> frame);
/// Writes a REQUEST to `frame`. Requires 1 to 4096 columns.
void encode_request(const ColumnsHeader& header, std::span<std::byte, columns_header_bytes> frame);
/// READY, ABORT and CLOSE, which have no body.
std::vector<std::byte> encode_empty(FrameType type);

/// Size of a whole APPLY, REPLY or CANCELLATIONS whose residues take `residue_bytes` bytes
/// together.
constexpr std::size_t columns_frame_bytes(std::size_t residue_bytes) {
    return columns_header_bytes + residue_bytes;
}
/// Writes an APPLY, REPLY or CANCELLATIONS to `frame`, which has
/// columns_frame_bytes(residues.size_bytes()) bytes. Requires canonical residues and one of these
/// types.
template <class P>
void encode_columns(FrameType type, const ColumnsHeader& header,
                    std::span<const typename P::Residue> residues, std::span<std::byte> frame);

/// WIRE-9: the length field, checked against the largest frame that the caller can accept now.
/// `max_length` counts the bytes after the length field. Throws ProtocolError.
std::size_t decode_length(std::span<const std::byte, length_bytes> field, std::size_t max_length);

/// `payload` is a frame without its length field: type and body. Throws ProtocolError if empty or
/// of a type that is unknown between Charlie and David.
FrameType frame_type(std::span<const std::byte> payload);
/// The same between Charlie and an offline David, where HELLO, APPLY and REPLY are unknown (OFF-7).
FrameType offline_frame_type(std::span<const std::byte> payload);
Hello decode_hello(std::span<const std::byte> payload);
Refusal decode_refuse(std::span<const std::byte> payload);
/// Writes the key to `key`. What is left in `payload` is for the caller to wipe.
KeyHeader decode_key(std::span<const std::byte> payload, std::span<std::uint8_t, 32> key);
ColumnsHeader decode_request(std::span<const std::byte> payload);
/// Checks that a READY, ABORT or CLOSE has no body.
void decode_empty(FrameType type, std::span<const std::byte> payload);
/// The header only, so that the caller can learn the group before the shapes are checked.
ColumnsHeader decode_columns_header(FrameType type, std::span<const std::byte> payload);
/// Checks the length of an APPLY, REPLY or CANCELLATIONS whose columns have `rows` elements each
/// against header.columns * rows and PARAM-3, so that no memory is reserved for residues that did
/// not come.
template <class P>
void require_columns_length(std::span<const std::byte> payload, const ColumnsHeader& header,
                            std::size_t rows);
/// The residues of an APPLY, REPLY or CANCELLATIONS whose columns have `rows` elements each. Checks
/// the length as above and that every residue is canonical (WIRE-8).
/// Requires: out.size() == header.columns * rows.
template <class P>
void decode_residues(std::span<const std::byte> payload, const ColumnsHeader& header,
                     std::size_t rows, std::span<typename P::Residue> out);
/// The same for one column, numbered from 0. Requires: column < header.columns, out.size() == rows.
template <class P>
void decode_column(std::span<const std::byte> payload, const ColumnsHeader& header,
                   std::size_t column, std::span<typename P::Residue> out);

}  // namespace slip::protocol::wire
