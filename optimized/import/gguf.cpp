// MODEL-19: the GGUF format.
#include "optimized/import/gguf.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/import/tensors.hpp"
#include "optimized/import/utf8.hpp"

// The format is little-endian, and so is this machine.
static_assert(std::endian::native == std::endian::little);

namespace slip::importing {
namespace {

using nlohmann::json;

constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
constexpr std::size_t largest_tensor_count = std::size_t{1} << 20;
constexpr std::size_t largest_key_count = std::size_t{1} << 16;
constexpr std::size_t longest_name = 256;
constexpr std::size_t default_alignment = 32;
constexpr std::size_t largest_alignment = std::size_t{1} << 16;

/// A block of Q8_0: a scale in binary16, and 32 integers of 8 bits.
constexpr std::size_t block_elements = 32;
constexpr std::size_t block_bytes = 2 + block_elements;

/// Types of metadata, by their numbers in the file.
enum class Kind : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    text,
    array,
    u64,
    i64,
    f64
};

/// Types of tensors that are known and not read: number, name.
constexpr std::pair<std::uint32_t, const char*> other_types[] = {
    {2, "Q4_0"},    {3, "Q4_1"},     {6, "Q5_0"},   {7, "Q5_1"},    {9, "Q8_1"},   {10, "Q2_K"},
    {11, "Q3_K"},   {12, "Q4_K"},    {13, "Q5_K"},  {14, "Q6_K"},   {15, "Q8_K"},  {16, "IQ2_XXS"},
    {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"}, {22, "IQ2_S"},
    {23, "IQ4_XS"}, {29, "IQ1_M"},   {34, "TQ1_0"}, {35, "TQ2_0"},  {39, "MXFP4"}};

[[noreturn]] void refuse(const std::filesystem::path& origin, const std::string& what) {
    throw BadInput(origin.string() + ": " + what);
}

/// Reads from the front of the file, and never beyond its end.
class Cursor {
public:
    Cursor(std::span<const std::byte> file, const std::filesystem::path& origin)
        : file_(file), origin_(origin) {}

    template <class T>
    T number(const std::string& what) {
        T value{};
        std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
        return value;
    }
    /// A length and as many bytes, UTF-8.
    std::string text(const std::string& what) {
        const auto length = number<std::uint64_t>(what);
        const auto bytes = take(length, what);
        std::string value(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        if (utf8_prefix(value) != value.size()) refuse(what + ": is not UTF-8");
        return value;
    }
    std::size_t position() const { return position_; }
    std::size_t left() const { return file_.size() - position_; }
    [[noreturn]] void refuse(const std::string& what) const { importing::refuse(origin_, what); }

private:
    std::span<const std::byte> take(std::uint64_t bytes, const std::string& what) {
        if (bytes > left()) refuse(what + ": the file ends before it");
        const auto taken = file_.subspan(position_, bytes);
        position_ += bytes;
        return taken;
    }

    std::span<const std::byte> file_;
    const std::filesystem::path& origin_;
    std::size_t position_ = 0;
};

/// The fewest bytes that a value of this kind takes.
std::size_t least_bytes(Kind kind) {
    switch (kind) {
        case Kind::u8:
        case Kind::i8:
        case Kind::boolean:
            return 1;
        case Kind::u16:
        case Kind::i16:
            return 2;
        case Kind::u32:
        case Kind::i32:
        case Kind::f32:
            return 4;
        default:
            return 8;
    }
}

json read_scalar(Cursor& cursor, Kind kind, const std::string& what) {
    switch (kind) {
        case Kind::u8:
            return cursor.number<std::uint8_t>(what);
        case Kind::i8:
            return cursor.number<std::int8_t>(what);
        case Kind::u16:
            return cursor.number<std::uint16_t>(what);
        case Kind::i16:
            return cursor.number<std::int16_t>(what);
        case Kind::u32:
            return cursor.number<std::uint32_t>(what);
        case Kind::i32:
            return cursor.number<std::int32_t>(what);
        case Kind::f32:
            return cursor.number<float>(what);
        case Kind::u64:
            return cursor.number<std::uint64_t>(what);
        case Kind::i64:
            return cursor.number<std::int64_t>(what);
        case Kind::f64:
            return cursor.number<double>(what);
        case Kind::text:
            return cursor.text(what);
        case Kind::boolean: {
            const auto value = cursor.number<std::uint8_t>(what);
            if (value > 1) cursor.refuse(what + ": expected 0 or 1 for a truth value");
            return value == 1;
        }
        default:
            cursor.refuse(what + ": has the unknown or nested type " +
                          std::to_string(static_cast<std::uint32_t>(kind)));
    }
}

json read_value(Cursor& cursor, const std::string& what) {
    const auto kind = static_cast<Kind>(cursor.number<std::uint32_t>(what));
    if (kind != Kind::array) return read_scalar(cursor, kind, what);
    const auto element = static_cast<Kind>(cursor.number<std::uint32_t>(what));
    const auto count = cursor.number<std::uint64_t>(what);
    if (count > cursor.left() / least_bytes(element)) {
        cursor.refuse(what + ": the file ends before its " + std::to_string(count) + " elements");
    }
    json::array_t values;
    values.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(read_scalar(cursor, element, what));
    return values;
}

json read_metadata(Cursor& cursor, std::uint64_t count) {
    json metadata = json::object();
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string key = cursor.text("key " + std::to_string(i) + " of the metadata");
        const std::string what = "metadata " + json(key).dump();
        json value = read_value(cursor, what);
        if (metadata.contains(key)) cursor.refuse(what + ": stands twice");
        metadata[key] = std::move(value);
    }
    return metadata;
}

/// A tensor as the table describes it.
struct Entry {
    std::string name;
    GgufTensor tensor;
    std::uint64_t offset = 0;
    std::size_t size = 0;
};

GgufType read_type(Cursor& cursor, const std::string& what) {
    const auto number = cursor.number<std::uint32_t>(what);
    switch (number) {
        case 0:
            return GgufType::f32;
        case 1:
            return GgufType::f16;
        case 8:
            return GgufType::q8_0;
        case 30:
            return GgufType::bf16;
        default:
            break;
    }
    for (const auto& [other, name] : other_types) {
        if (number != other) continue;
        cursor.refuse(what + ": has element type " + name +
                      ": weights on so coarse a grid are determined by David's half (DECO-13): "
                      "expected F32, F16, BF16 or Q8_0");
    }
    cursor.refuse(what + ": has element type " + std::to_string(number) +
                  ": expected F32, F16, BF16 or Q8_0");
}

/// The bytes of a tensor's data. Refused are shapes that the type, or memory, cannot have.
std::size_t size_of(Cursor& cursor, const GgufTensor& tensor, const std::string& what) {
    std::size_t elements = 1;
    for (const std::size_t extent : tensor.shape) {
        if (extent == 0 || extent > std::numeric_limits<std::uint32_t>::max() ||
            elements > (std::size_t{1} << 40) / extent) {
            cursor.refuse(what + ": expected extents from 1 on, and 2^40 elements at most");
        }
        elements *= extent;
    }
    if (tensor.type == GgufType::f32) return 4 * elements;
    if (tensor.type != GgufType::q8_0) return 2 * elements;
    if (tensor.shape.back() % block_elements != 0) {
        cursor.refuse(what + ": expected rows of whole blocks of 32 elements for Q8_0");
    }
    return elements / block_elements * block_bytes;
}

Entry read_entry(Cursor& cursor, std::uint64_t number) {
    Entry entry;
    entry.name = cursor.text("name of tensor " + std::to_string(number));
    const std::string what = "tensor " + json(entry.name).dump();
    if (entry.name.empty() || entry.name.size() > longest_name) {
        cursor.refuse(what + ": expected a name of 1 to 256 bytes");
    }
    const auto dimensions = cursor.number<std::uint32_t>(what);
    if (dimensions < 1 || dimensions > 4) cursor.refuse(what + ": expected 1 to 4 dimensions");
    for (std::uint32_t i = 0; i < dimensions; ++i) {
        entry.tensor.shape.push_back(cursor.number<std::uint64_t>(what));
    }
    std::reverse(entry.tensor.shape.begin(), entry.tensor.shape.end());
    entry.tensor.type = read_type(cursor, what);
    entry.size = size_of(cursor, entry.tensor, what);
    entry.offset = cursor.number<std::uint64_t>(what);
    return entry;
}

std::size_t alignment_of(const Cursor& cursor, const json& metadata) {
    const auto found = metadata.find("general.alignment");
    if (found == metadata.end()) return default_alignment;
    const bool fits = found->is_number_unsigned() && found->get<std::uint64_t>() >= 8 &&
                      found->get<std::uint64_t>() <= largest_alignment &&
                      found->get<std::uint64_t>() % 8 == 0;
    if (!fits) {
        cursor.refuse("metadata \"general.alignment\": expected a multiple of 8 from 8 to 65536");
    }
    return found->get<std::size_t>();
}

/// Gives each tensor its bytes of the data section. They must lie in it, aligned, and apart.
void place(std::vector<Entry>& entries, std::span<const std::byte> data, std::size_t alignment,
           const Cursor& cursor) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
    std::size_t end = 0;
    for (Entry& entry : entries) {
        const std::string what = "tensor " + json(entry.name).dump();
        if (entry.offset % alignment != 0) {
            cursor.refuse(what + ": its offset is no multiple of the alignment " +
                          std::to_string(alignment));
        }
        if (entry.offset > data.size() || entry.size > data.size() - entry.offset) {
            cursor.refuse(what + ": its bytes lie beyond the end of the file");
        }
        if (entry.offset < end) cursor.refuse(what + ": shares bytes with another tensor");
        entry.tensor.bytes = data.subspan(entry.offset, entry.size);
        end = entry.offset + entry.size;
    }
}

void check_version(Cursor& cursor) {
    if (cursor.number<std::uint32_t>("magic number") != magic) {
        cursor.refuse("is no GGUF file: it does not begin with \"GGUF\"");
    }
    const auto version = cursor.number<std::uint32_t>("version");
    if (version == 2 || version == 3) return;
    cursor.refuse("has GGUF version " + std::to_string(version) +
                  ": expected 2 or 3, little-endian");
}

}  // namespace

std::size_t GgufTensor::elements() const {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
}

GgufHeader parse_gguf(std::span<const std::byte> file, const std::filesystem::path& origin) {
    Cursor cursor(file, origin);
    check_version(cursor);
    const auto tensors = cursor.number<std::uint64_t>("number of tensors");
    const auto keys = cursor.number<std::uint64_t>("number of keys");
    if (tensors > largest_tensor_count) cursor.refuse("has more than 2^20 tensors");
    if (keys > largest_key_count) cursor.refuse("has more than 2^16 keys");
    GgufHeader header;
    header.metadata = read_metadata(cursor, keys);
    std::vector<Entry> entries;
    std::set<std::string> names;
    for (std::uint64_t i = 0; i < tensors; ++i) {
        entries.push_back(read_entry(cursor, i));
        if (!names.insert(entries.back().name).second) {
            cursor.refuse("tensor " + json(entries.back().name).dump() + ": stands twice");
        }
    }
    const std::size_t alignment = alignment_of(cursor, header.metadata);
    const std::size_t begin = (cursor.position() + alignment - 1) / alignment * alignment;
    place(entries, begin <= file.size() ? file.subspan(begin) : std::span<const std::byte>(),
          alignment, cursor);
    for (Entry& entry : entries) header.tensors.emplace(entry.name, std::move(entry.tensor));
    return header;
}

std::vector<float> q8_0_values(const GgufTensor& tensor) {
    base::require(tensor.type == GgufType::q8_0, "q8_0_values: another element type");
    std::vector<float> values(tensor.elements());
    base::require(tensor.bytes.size() == values.size() / block_elements * block_bytes,
                  "q8_0_values: the bytes of a tensor do not match its shape");
    const std::size_t blocks = values.size() / block_elements;
    std::vector<std::byte> halves;
    halves.reserve(2 * blocks);
    for (std::size_t block = 0; block < blocks; ++block) {
        const auto scale = tensor.bytes.subspan(block * block_bytes, 2);
        halves.insert(halves.end(), scale.begin(), scale.end());
    }
    const std::vector<float> scales = to_floats({"scales", DType::f16, {blocks}, halves}, false);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t block = i / block_elements;
        const std::byte integer = tensor.bytes[block * block_bytes + 2 + i % block_elements];
        values[i] = scales[block] * static_cast<float>(static_cast<std::int8_t>(integer));
    }
    return values;
}

}  // namespace slip::importing
