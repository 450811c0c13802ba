#include "optimized/protocol/frames.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::protocol::wire {
namespace {

namespace parameters = base::parameters;
using base::require;

// CONV-2: integers are little-endian on the wire, as they are in memory here.
static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 4> magic{'S', 'L', 'I', 'P'};
constexpr std::size_t columns_payload_bytes = columns_header_bytes - length_bytes;

const char* name_of(FrameType type) {
    switch (type) {
        case FrameType::hello:
            return "HELLO";
        case FrameType::ready:
            return "READY";
        case FrameType::apply:
            return "APPLY";
        case FrameType::reply:
            return "REPLY";
        case FrameType::abort:
            return "ABORT";
        case FrameType::close:
            return "CLOSE";
        case FrameType::refuse:
            return "REFUSE";
    }
    return "a frame of unknown type";
}

[[noreturn]] void fail(FrameType type, const std::string& what) {
    throw ProtocolError(std::string(name_of(type)) + ": " + what);
}

/// Writes fields one after the other.
class Writer {
public:
    explicit Writer(std::span<std::byte> frame) : rest_(frame) {}

    template <class T>
    void put(const T& value) {
        std::memcpy(rest_.data(), &value, sizeof value);
        rest_ = rest_.subspan(sizeof value);
    }

    /// WIRE-1: length u32 | type u8, for a frame that fills all of the buffer.
    void put_start(FrameType type) {
        put(static_cast<std::uint32_t>(rest_.size() - length_bytes));
        put(type);
    }

    std::span<std::byte> rest() const { return rest_; }

private:
    std::span<std::byte> rest_;
};

/// Reads fields one after the other. Its user has checked that there are enough bytes.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

    template <class T>
    T get() {
        T value;
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_ = rest_.subspan(sizeof value);
        return value;
    }

private:
    std::span<const std::byte> rest_;
};

void require_type(FrameType expected, std::span<const std::byte> payload) {
    const FrameType type = frame_type(payload);
    if (type != expected) {
        fail(type, std::string("came where ") + name_of(expected) + " was expected");
    }
}

void require_size(FrameType type, std::span<const std::byte> payload, std::size_t expected) {
    if (payload.size() != expected) {
        fail(type, "the length is " + std::to_string(payload.size()) + ", expected " +
                       std::to_string(expected));
    }
}

/// WIRE-8: says which residue it is that the kernel has found in plane p of column c.
[[noreturn]] void fail_residue(FrameType type, std::span<const std::uint8_t> plane, std::size_t c,
                               std::size_t p) {
    const unsigned prime = parameters::primes[p];
    const auto wrong = std::find_if(plane.begin(), plane.end(),
                                    [&](std::uint8_t residue) { return residue >= prime; });
    fail(type, "the residue in plane " + std::to_string(p) + " of column " + std::to_string(c) +
                   ", row " + std::to_string(wrong - plane.begin()) + ", is not below " +
                   std::to_string(prime));
}

}  // namespace

const char* describe(Refusal reason) {
    switch (reason) {
        case Refusal::version:
            return "he speaks another protocol version";
        case Refusal::set:
            return "he serves another parameter set";
        case Refusal::digest:
            return "he holds another weight file";
        case Refusal::malformed:
            return "a frame was malformed";
        case Refusal::out_of_order:
            return "a frame was out of order";
        case Refusal::unknown_group:
            return "a group is unknown to him";
        case Refusal::busy:
            return "he is busy";
    }
    return "the reason is unknown";
}

std::vector<std::byte> encode_hello(const Hello& hello) {  // WIRE-2
    std::vector<std::byte> frame(length_bytes + hello_bytes);
    Writer writer(frame);
    writer.put_start(FrameType::hello);
    writer.put(magic);
    writer.put(hello.version);
    writer.put(hello.set);
    writer.put(hello.digest);
    return frame;
}

std::vector<std::byte> encode_refuse(Refusal reason) {  // WIRE-7
    require(reason >= Refusal::version && reason <= Refusal::busy, "REFUSE: unknown reason");
    std::vector<std::byte> frame(length_bytes + 2);
    Writer writer(frame);
    writer.put_start(FrameType::refuse);
    writer.put(reason);
    return frame;
}

std::vector<std::byte> encode_empty(FrameType type) {  // WIRE-3, WIRE-6
    require(type == FrameType::ready || type == FrameType::abort || type == FrameType::close,
            "encode_empty: this frame has a body");
    std::vector<std::byte> frame(length_bytes + 1);
    Writer(frame).put_start(type);
    return frame;
}

std::span<std::uint8_t> begin_columns(FrameType type, const ColumnsHeader& header,
                                      std::span<std::byte> frame) {
    require(type == FrameType::apply || type == FrameType::reply,  // WIRE-4, WIRE-5
            "begin_columns: this frame has no residues");
    require(header.columns >= 1 && header.columns <= parameters::largest_columns,
            "begin_columns: columns");
    require(frame.size() > columns_header_bytes &&
                frame.size() <= columns_frame_bytes(parameters::largest_residue_bytes) &&
                (frame.size() - columns_header_bytes) % header.columns == 0,
            "begin_columns: the number of residues");
    Writer writer(frame);
    writer.put_start(type);
    writer.put(header.sequence);
    writer.put(header.group);
    writer.put(header.columns);
    return {reinterpret_cast<std::uint8_t*>(writer.rest().data()), writer.rest().size()};
}

std::span<const std::uint8_t> residues_of(std::span<const std::byte> frame) {
    const auto residues = frame.subspan(std::min(frame.size(), columns_header_bytes));
    return {reinterpret_cast<const std::uint8_t*>(residues.data()), residues.size()};
}

std::size_t decode_length(std::span<const std::byte, length_bytes> field, std::size_t max_length) {
    const std::size_t length = Reader(field).get<std::uint32_t>();
    if (length == 0 || length > std::min(max_length, max_frame_length)) {  // WIRE-1, WIRE-9
        throw ProtocolError("a frame announces " + std::to_string(length) +
                            " bytes, expected 1 to " + std::to_string(max_length));
    }
    return length;
}

FrameType frame_type(std::span<const std::byte> payload) {
    if (payload.empty()) throw ProtocolError("a frame has no type");
    const auto type = static_cast<FrameType>(payload[0]);
    if (type < FrameType::hello || type > FrameType::refuse) {
        throw ProtocolError("a frame has the unknown type " +
                            std::to_string(static_cast<unsigned>(type)));
    }
    return type;
}

Hello decode_hello(std::span<const std::byte> payload) {
    require_type(FrameType::hello, payload);
    require_size(FrameType::hello, payload, hello_bytes);
    Reader reader(payload.subspan(1));
    if (reader.get<std::array<char, 4>>() != magic) {
        fail(FrameType::hello, "the magic is not \"SLIP\"");
    }
    Hello hello;
    hello.version = reader.get<std::uint16_t>();
    hello.set = reader.get<std::uint8_t>();
    hello.digest = reader.get<Digest>();
    return hello;
}

Refusal decode_refuse(std::span<const std::byte> payload) {
    require_type(FrameType::refuse, payload);
    require_size(FrameType::refuse, payload, 2);
    const auto reason = static_cast<Refusal>(payload[1]);
    if (reason < Refusal::version || reason > Refusal::busy) {
        fail(FrameType::refuse, "the reason is unknown");
    }
    return reason;
}

void decode_empty(FrameType type, std::span<const std::byte> payload) {
    require_type(type, payload);
    require_size(type, payload, 1);
}

ColumnsHeader decode_columns_header(FrameType type, std::span<const std::byte> payload) {
    require_type(type, payload);
    if (payload.size() < columns_payload_bytes) {
        fail(type, "the length is " + std::to_string(payload.size()) + ", expected at least " +
                       std::to_string(columns_payload_bytes));
    }
    Reader reader(payload.subspan(1));
    ColumnsHeader header;
    header.sequence = reader.get<std::uint64_t>();
    header.group = reader.get<std::uint32_t>();
    header.columns = reader.get<std::uint32_t>();
    if (header.columns == 0 || header.columns > parameters::largest_columns) {
        fail(type, "the number of columns is " + std::to_string(header.columns) +
                       ", expected 1 to " + std::to_string(parameters::largest_columns));
    }
    return header;
}

std::span<const std::uint8_t> decode_residues(std::span<const std::byte> payload,
                                              const ColumnsHeader& header, std::size_t planes,
                                              std::size_t rows) {
    const auto type = static_cast<FrameType>(payload[0]);
    const std::size_t bytes = header.columns * planes * rows;
    if (bytes > parameters::largest_residue_bytes) fail(type, "the residues exceed 2^26 bytes");
    require_size(type, payload, columns_payload_bytes + bytes);
    const auto* const first = reinterpret_cast<const std::uint8_t*>(payload.data());
    const std::span residues(first + columns_payload_bytes, bytes);
    for (std::size_t i = 0; i < header.columns * planes; ++i) {
        const auto plane = residues.subspan(i * rows, rows);
        const std::size_t p = i % planes;
        if (!kernels::active().below(plane.data(), rows, parameters::primes[p])) {
            fail_residue(type, plane, i / planes, p);
        }
    }
    return residues;
}

}  // namespace slip::protocol::wire
