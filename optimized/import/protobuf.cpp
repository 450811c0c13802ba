#include "optimized/import/protobuf.hpp"

#include <bit>

#include "optimized/base/error.hpp"

namespace slip::importing::protobuf {

void Reader::fail() const { throw BadInput(what_ + ": is not a protobuf message"); }

std::string_view Reader::take(std::uint64_t count) {
    if (count > rest_.size()) fail();
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
}

std::uint64_t Reader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const auto byte = static_cast<std::uint8_t>(take(1)[0]);
        value |= std::uint64_t{byte & 0x7fU} << shift;
        if (byte < 0x80) return value;
    }
    fail();
}

std::uint64_t Reader::fixed(std::size_t bytes) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char byte : take(bytes)) {
        value |= std::uint64_t{static_cast<std::uint8_t>(byte)} << shift;
        shift += 8;
    }
    return value;
}

std::optional<Field> Reader::next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    if (key >> 3 == 0 || key >> 3 > 0x1fffffff) fail();
    Field field;
    field.number = static_cast<std::uint32_t>(key >> 3);
    switch (key & 7) {
        case 0:
            field.type = Field::Type::varint;
            field.value = varint();
            return field;
        case 1:
            field.type = Field::Type::fixed64;
            field.value = fixed(8);
            return field;
        case 2:
            field.type = Field::Type::bytes;
            field.bytes = take(varint());
            return field;
        case 5:
            field.type = Field::Type::fixed32;
            field.value = fixed(4);
            return field;
        default:
            fail();
    }
}

void append_integers(const Field& field, const std::string& what, std::vector<std::int64_t>& out) {
    if (field.type == Field::Type::bytes) {
        Reader packed(field.bytes, what);
        while (!packed.done()) out.push_back(static_cast<std::int64_t>(packed.varint()));
    } else if (field.type == Field::Type::varint) {
        out.push_back(static_cast<std::int64_t>(field.value));
    } else {
        throw BadInput(what + ": expected integers in field " + std::to_string(field.number));
    }
}

float float_of(std::uint64_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

void append_floats(const Field& field, const std::string& what, std::vector<float>& out) {
    if (field.type == Field::Type::bytes) {
        Reader packed(field.bytes, what);
        while (!packed.done()) out.push_back(float_of(packed.fixed(4)));
    } else if (field.type == Field::Type::fixed32) {
        out.push_back(float_of(field.value));
    } else {
        throw BadInput(what + ": expected floats in field " + std::to_string(field.number));
    }
}

}  // namespace slip::importing::protobuf
