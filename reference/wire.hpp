// The frames of the protocol, byte by byte. All integers on the wire are little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <variant>

#include "reference/error.hpp"
#include "reference/integer.hpp"
#include "reference/parameters.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

using Digest = std::array<std::uint8_t, 32>;

/// WIRE-2. The first frame, by Charlie. Any version and set can be read, so that David can
/// answer with the reason why he refuses.
struct Hello {
    std::uint16_t version = protocol_version;
    std::uint8_t set = 0;  ///< the code of a set of parameters
    Digest digest{};       ///< SHA-256 of David's weight file

    friend bool operator==(const Hello&, const Hello&) = default;
};

/// WIRE-3. David accepts all of HELLO.
struct Ready {
    friend bool operator==(const Ready&, const Ready&) = default;
};

/// WIRE-4. Masked inputs x~ mod L, n x columns.
struct Apply {
    std::uint64_t sequence = 0;
    std::uint32_t group = 0;
    Matrix residues;

    friend bool operator==(const Apply&, const Apply&) = default;
};

/// WIRE-5. Masked outputs y~ mod L, M x columns.
struct Reply {
    std::uint64_t sequence = 0;
    std::uint32_t group = 0;
    Matrix residues;

    friend bool operator==(const Reply&, const Reply&) = default;
};

/// WIRE-6. Charlie gives up; the frame is constant and says nothing of why.
struct Abort {
    friend bool operator==(const Abort&, const Abort&) = default;
};

/// WIRE-6. Charlie is done.
struct Close {
    friend bool operator==(const Close&, const Close&) = default;
};

/// WIRE-7. Why David gives up.
enum class RefuseReason : std::uint8_t {
    version = 1,
    set = 2,
    digest = 3,
    malformed = 4,
    out_of_order = 5,
    unknown_group = 6,
    busy = 7,
};

/// WIRE-7. David gives up.
struct Refuse {
    RefuseReason reason = RefuseReason::malformed;

    friend bool operator==(const Refuse&, const Refuse&) = default;
};

using Frame = std::variant<Hello, Ready, Apply, Reply, Abort, Close, Refuse>;

/// What both parties know of the messages: without it no APPLY or REPLY can be read.
struct GroupShape {
    std::size_t inputs;   ///< n
    std::size_t outputs;  ///< M, the rows of all members

    friend bool operator==(const GroupShape&, const GroupShape&) = default;
};

struct Shapes {
    ParameterSet set;
    std::map<std::uint32_t, GroupShape> groups;
};

/// Why bytes are not a frame.
enum class DecodeReason {
    missing_bytes,        ///< the bytes end before the frame does
    trailing_bytes,       ///< bytes after the end of the frame
    length_out_of_range,  ///< length is 0 or above 2^26 + 64
    unknown_type,
    wrong_length,  ///< the length is not the one that this type and these shapes have
    wrong_magic,   ///< HELLO does not begin with "SLIP"
    unknown_group,
    wrong_columns,  ///< 0 or above 4096, or more than 2^26 bytes of residues
    residue_not_canonical,
    unknown_refuse_reason,
};

/// The name of a reason, such as "trailing bytes".
const char* describe(DecodeReason reason);

class DecodeError : public ProtocolError {
public:
    explicit DecodeError(DecodeReason reason) : ProtocolError(describe(reason)), reason_(reason) {}

    DecodeReason reason() const { return reason_; }

private:
    DecodeReason reason_;
};

/// The fields of APPLY and REPLY before their residues.
struct MessageHeader {
    std::uint64_t sequence;
    std::uint32_t group;
    std::uint32_t columns;
};

/// WIRE-7. The header of an APPLY that may be malformed behind it: something if `bytes` are a frame
/// of that type with a whole header and 1 to 4096 columns. David looks at the sequence before he
/// looks at the group and the residues.
std::optional<MessageHeader> apply_header(std::span<const std::uint8_t> bytes);

/// WIRE-1, WIRE-8. The bytes of a frame. They decode to the same frame.
/// Error: a frame that no decoder accepts (PreconditionError).
Bytes encode(const Frame& frame, const Shapes& shapes);

/// WIRE-1, WIRE-8. The frame that `bytes` are, exactly: it encodes to the same bytes.
/// Error: DecodeError, and no other exception, for any bytes that are not a frame.
Frame decode(std::span<const std::uint8_t> bytes, const Shapes& shapes);

}  // namespace slip::reference
