// The wire format of Protocol Buffers, as far as ONNX files use it. Debian's SentencePiece carries
// and exports another version of the protobuf library, so that a program cannot link both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slip::importing::protobuf {

/// One field of a message: a number (varint or fixed width) or a string of bytes, which lie in the
/// message that was read.
struct Field {
    std::uint32_t number = 0;
    enum class Type { varint, fixed64, bytes, fixed32 } type = Type::varint;
    std::uint64_t value = 0;
    std::string_view bytes;
};

/// Reads a message field by field. Every error is a BadInput that begins with `what`.
class Reader {
public:
    /// `message` and `what` outlive the reader.
    Reader(std::string_view message, const std::string& what) : rest_(message), what_(what) {}

    /// The next field, or nothing at the end. Throws BadInput if the bytes are not a field.
    std::optional<Field> next();

    bool done() const { return rest_.empty(); }
    /// Seven bits per byte, the lowest first; at most ten bytes.
    std::uint64_t varint();
    /// `bytes` bytes, the lowest first.
    std::uint64_t fixed(std::size_t bytes);

private:
    std::string_view take(std::uint64_t count);
    [[noreturn]] void fail() const;

    std::string_view rest_;
    const std::string& what_;
};

/// The elements of a repeated field, which may be packed into one string of bytes or stand one by
/// one, in any mixture. Throw BadInput, beginning with `what`, for another type.
void append_integers(const Field& field, const std::string& what, std::vector<std::int64_t>& out);
void append_floats(const Field& field, const std::string& what, std::vector<float>& out);

/// The float whose binary32 representation is `bits`.
float float_of(std::uint64_t bits);

}  // namespace slip::importing::protobuf
