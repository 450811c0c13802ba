#include "reference/wire.hpp"

#include <algorithm>
#include <utility>

namespace slip::reference {

namespace {

// WIRE-2 to WIRE-7: the type byte.
enum Type : std::uint8_t {
    type_hello = 0x01,
    type_ready = 0x02,
    type_apply = 0x03,
    type_reply = 0x04,
    type_abort = 0x05,
    type_close = 0x06,
    type_refuse = 0x07,
};

constexpr std::array<std::uint8_t, 4> magic = {'S', 'L', 'I', 'P'};

/// Appends `size` bytes of `value`, least significant byte first.
void put(Bytes& bytes, std::size_t size, Integer value) {
    for (std::size_t i = 0; i < size; ++i, value >>= 8) {
        bytes.push_back(Integer(value & 0xff).convert_to<std::uint8_t>());
    }
}

void refuse_unless(bool condition, DecodeReason reason) {
    if (!condition) throw DecodeError(reason);
}

/// Reads a body from front to back.
class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> body) : body_(body) {}

    std::size_t remaining() const { return body_.size(); }

    Integer integer(std::size_t size) {
        refuse_unless(size <= body_.size(), DecodeReason::wrong_length);
        Integer value = 0;
        for (std::size_t i = size; i-- > 0;) value = (value << 8) | body_[i];
        body_ = body_.subspan(size);
        return value;
    }

    template <class Unsigned>
    Unsigned number() {
        return integer(sizeof(Unsigned)).convert_to<Unsigned>();
    }

    void finish() const { refuse_unless(body_.empty(), DecodeReason::wrong_length); }

private:
    std::span<const std::uint8_t> body_;
};

Bytes body_of(const Hello& hello) {  // WIRE-2
    Bytes body(magic.begin(), magic.end());
    put(body, 2, hello.version);
    put(body, 1, hello.set);
    body.insert(body.end(), hello.digest.begin(), hello.digest.end());
    return body;
}

Frame read_hello(Reader body) {  // WIRE-2
    refuse_unless(body.remaining() == 39, DecodeReason::wrong_length);
    for (std::uint8_t letter : magic) {
        refuse_unless(body.number<std::uint8_t>() == letter, DecodeReason::wrong_magic);
    }
    Hello hello;
    hello.version = body.number<std::uint16_t>();
    hello.set = body.number<std::uint8_t>();
    for (std::uint8_t& byte : hello.digest) byte = body.number<std::uint8_t>();
    body.finish();
    return hello;
}

/// Whether the residues of a message fit 2^26 bytes, both in the APPLY and in its REPLY.
bool residues_fit(std::size_t columns, const GroupShape& group, const ParameterSet& set) {
    const std::size_t rows = std::max(group.inputs, group.outputs);
    return rows <= largest_residue_bytes / set.planes.count() / columns;
}

/// RING-5. A column as bytes: plane after plane, a byte per residue.
void put_column(Bytes& bytes, const Planes& planes, const Vector& column) {
    for (std::size_t p = 0; p < planes.count(); ++p) {
        for (const Integer& residue : planes.plane(p, column)) put(bytes, 1, residue);
    }
}

/// RING-5. The column that bytes are. A byte that is not below its prime is refused.
Vector read_column(Reader& body, const Planes& planes, std::size_t rows) {
    std::vector<Vector> parts;
    for (const Integer& prime : planes.primes()) {
        Vector part;
        for (std::size_t i = 0; i < rows; ++i) {
            part.push_back(body.integer(1));
            refuse_unless(part.back() < prime, DecodeReason::residue_not_canonical);
        }
        parts.push_back(std::move(part));
    }
    return planes.join(parts);
}

/// WIRE-4 and WIRE-5: sequence u64 | group u32 | columns u32 | residues, column by column.
template <class Message>
Bytes body_of_message(const Message& message, const Shapes& shapes, std::size_t GroupShape::*rows) {
    const auto group = shapes.groups.find(message.group);
    const Matrix& residues = message.residues;
    require(group != shapes.groups.end(), "a message names a group that exists");
    require(residues.rows() == group->second.*rows, "a message has as many rows as its group");
    require(1 <= residues.cols() && residues.cols() <= largest_columns,
            "a message carries 1 to 4096 columns");
    require(residues_fit(residues.cols(), group->second, shapes.set),
            "a message carries at most 2^26 bytes of residues");
    Bytes body;
    put(body, 8, message.sequence);
    put(body, 4, message.group);
    put(body, 4, residues.cols());
    for (std::size_t t = 0; t < residues.cols(); ++t) {
        put_column(body, shapes.set.planes, residues.column(t));
    }
    return body;
}

MessageHeader read_header(Reader& body) {
    MessageHeader header{};
    header.sequence = body.number<std::uint64_t>();
    header.group = body.number<std::uint32_t>();
    header.columns = body.number<std::uint32_t>();
    refuse_unless(1 <= header.columns && header.columns <= largest_columns,
                  DecodeReason::wrong_columns);
    return header;
}

/// WIRE-4 and WIRE-5, with the refusals of WIRE-8.
template <class Message>
Frame read_message(Reader body, const Shapes& shapes, std::size_t GroupShape::*rows) {
    const auto [sequence, number, columns] = read_header(body);
    const auto group = shapes.groups.find(number);
    refuse_unless(group != shapes.groups.end(), DecodeReason::unknown_group);
    refuse_unless(residues_fit(columns, group->second, shapes.set), DecodeReason::wrong_columns);
    const std::size_t m = group->second.*rows;
    refuse_unless(body.remaining() == columns * m * shapes.set.planes.count(),
                  DecodeReason::wrong_length);

    std::vector<Vector> residues;
    for (std::size_t t = 0; t < columns; ++t) {
        residues.push_back(read_column(body, shapes.set.planes, m));
    }
    body.finish();
    return Message{sequence, number, Matrix::from_columns(m, residues)};
}

bool known(RefuseReason reason) {
    return RefuseReason::version <= reason && reason <= RefuseReason::busy;
}

Frame read_refuse(Reader body) {  // WIRE-7
    const auto reason = static_cast<RefuseReason>(body.number<std::uint8_t>());
    body.finish();
    refuse_unless(known(reason), DecodeReason::unknown_refuse_reason);
    return Refuse{reason};
}

template <class Empty>
Frame read_empty(const Reader& body) {  // WIRE-3, WIRE-6
    body.finish();
    return Empty{};
}

/// The type and the body of each kind of frame.
struct Encoder {
    using Parts = std::pair<Type, Bytes>;
    const Shapes& shapes;

    Parts operator()(const Hello& hello) const { return {type_hello, body_of(hello)}; }
    Parts operator()(const Ready&) const { return {type_ready, {}}; }
    Parts operator()(const Apply& apply) const {
        return {type_apply, body_of_message(apply, shapes, &GroupShape::inputs)};
    }
    Parts operator()(const Reply& reply) const {
        return {type_reply, body_of_message(reply, shapes, &GroupShape::outputs)};
    }
    Parts operator()(const Abort&) const { return {type_abort, {}}; }
    Parts operator()(const Close&) const { return {type_close, {}}; }
    Parts operator()(const Refuse& refuse) const {
        require(known(refuse.reason), "REFUSE carries one of the seven reasons");
        return {type_refuse, {static_cast<std::uint8_t>(refuse.reason)}};
    }
};

/// WIRE-1. The type byte and the body of a frame.
std::pair<std::uint8_t, Reader> parts_of(std::span<const std::uint8_t> bytes) {
    refuse_unless(bytes.size() >= 4, DecodeReason::missing_bytes);
    const std::size_t length = Reader(bytes.first(4)).number<std::uint32_t>();
    refuse_unless(1 <= length && length <= largest_frame, DecodeReason::length_out_of_range);
    refuse_unless(bytes.size() - 4 >= length, DecodeReason::missing_bytes);
    refuse_unless(bytes.size() - 4 <= length, DecodeReason::trailing_bytes);
    return {bytes[4], Reader(bytes.subspan(5))};
}

}  // namespace

const char* describe(DecodeReason reason) {
    switch (reason) {
        case DecodeReason::missing_bytes:
            return "missing bytes";
        case DecodeReason::trailing_bytes:
            return "trailing bytes";
        case DecodeReason::length_out_of_range:
            return "length out of range";
        case DecodeReason::unknown_type:
            return "unknown type";
        case DecodeReason::wrong_length:
            return "wrong length";
        case DecodeReason::wrong_magic:
            return "wrong magic";
        case DecodeReason::unknown_group:
            return "unknown group";
        case DecodeReason::wrong_columns:
            return "wrong number of columns";
        case DecodeReason::residue_not_canonical:
            return "residue not canonical";
        case DecodeReason::unknown_refuse_reason:
            return "unknown reason of REFUSE";
    }
    return "unknown";
}

Bytes encode(const Frame& frame, const Shapes& shapes) {  // WIRE-1: length u32 | type u8 | body
    const auto [type, body] = std::visit(Encoder{shapes}, frame);
    const std::uint64_t length = 1 + body.size();
    require(length <= largest_frame, "a frame has at most 2^26 + 64 bytes after its length");
    Bytes bytes;
    put(bytes, 4, length);
    put(bytes, 1, type);
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
}

std::optional<MessageHeader> apply_header(std::span<const std::uint8_t> bytes) {  // WIRE-7
    try {
        auto [type, body] = parts_of(bytes);
        if (type == type_apply) return read_header(body);
    } catch (const DecodeError&) {
    }
    return std::nullopt;
}

Frame decode(std::span<const std::uint8_t> bytes, const Shapes& shapes) {  // WIRE-8
    const auto [type, body] = parts_of(bytes);
    switch (type) {
        case type_hello:
            return read_hello(body);
        case type_ready:
            return read_empty<Ready>(body);
        case type_apply:
            return read_message<Apply>(body, shapes, &GroupShape::inputs);
        case type_reply:
            return read_message<Reply>(body, shapes, &GroupShape::outputs);
        case type_abort:
            return read_empty<Abort>(body);
        case type_close:
            return read_empty<Close>(body);
        case type_refuse:
            return read_refuse(body);
        default:
            throw DecodeError(DecodeReason::unknown_type);
    }
}

}  // namespace slip::reference
