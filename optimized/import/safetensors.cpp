#include "optimized/import/safetensors.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "optimized/base/error.hpp"
#include "optimized/import/json.hpp"

// The format and the elements of its tensors are little-endian (CONV-2), and so is this machine.
static_assert(std::endian::native == std::endian::little);

namespace slip::importing {
namespace {

using base::require;
using nlohmann::json;

constexpr std::size_t length_bytes = 8;
/// The limit of the format's own implementation.
constexpr std::size_t largest_header = 100'000'000;
constexpr std::size_t data_alignment = 64;
constexpr std::array all_dtypes = {DType::f32, DType::f16, DType::bf16, DType::i8,
                                   DType::i16, DType::i32, DType::u8};

/// A tensor and where its bytes lie in the data section.
struct Entry {
    Tensor tensor;
    std::size_t begin = 0;
    std::size_t end = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

std::optional<std::size_t> checked_product(std::size_t a, std::size_t b) {
    if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) return std::nullopt;
    return a * b;
}

DType dtype_of(JsonObject& description) {
    const std::string name = description.text("dtype");
    for (const DType dtype : all_dtypes) {
        if (name == name_of(dtype)) return dtype;
    }
    description.refuse("dtype", "one of F32, F16, BF16, I8, I16, I32, U8");
}

/// An array of integers without a sign.
std::vector<std::size_t> sizes_of(JsonObject& description, const std::string& name) {
    std::vector<std::size_t> sizes;
    for (const json& value : description.array(name)) {
        if (!value.is_number_unsigned()) description.refuse(name, "integers from 0 on");
        sizes.push_back(value.get<std::size_t>());
    }
    return sizes;
}

Entry parse_entry(const std::string& name, const json& value, const std::filesystem::path& path) {
    JsonObject description(value, path, "tensor " + name);
    Entry entry;
    entry.tensor.name = name;
    entry.tensor.dtype = dtype_of(description);
    entry.tensor.shape = sizes_of(description, "shape");
    const std::vector<std::size_t> offsets = sizes_of(description, "data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
        description.refuse("data_offsets", "a begin and an end that is not before it");
    }
    description.refuse_unknown_fields();
    entry.begin = offsets[0];
    entry.end = offsets[1];

    std::optional<std::size_t> bytes = size_of(entry.tensor.dtype);
    for (const std::size_t extent : entry.tensor.shape) {
        if (bytes) bytes = checked_product(*bytes, extent);
    }
    if (!bytes || *bytes != entry.end - entry.begin) {
        description.refuse("data_offsets", "as many bytes as the shape and the dtype imply");
    }
    return entry;
}

/// The tensors must tile the data section: in order of their offsets each begins where the one
/// before it ends, and the last ends where the file ends.
void require_tiling(std::vector<Entry>& entries, std::size_t data_size,
                    const std::filesystem::path& path) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::size_t position = 0;
    for (const Entry& entry : entries) {
        if (entry.begin != position) {
            fail(path, "tensor " + entry.tensor.name + " begins at byte " +
                           std::to_string(entry.begin) + " of the data; expected " +
                           std::to_string(position) + ", without gap or overlap");
        }
        position = entry.end;
    }
    if (position != data_size) {
        fail(path, "the tensors end at byte " + std::to_string(position) +
                       " of the data, which has " + std::to_string(data_size));
    }
}

std::map<std::string, std::string> parse_metadata(const json& value,
                                                  const std::filesystem::path& path) {
    JsonObject object(value, path, "__metadata__");
    std::map<std::string, std::string> metadata;
    for (const auto& [name, text] : value.items()) metadata[name] = object.text(name);
    return metadata;
}

/// The header's JSON text. The bytes after it are the data section.
std::string_view header_text(std::span<const std::byte> bytes, const std::filesystem::path& path) {
    if (bytes.size() < length_bytes) fail(path, "is too short for a safetensors file");
    const std::size_t length = safetensors_header_bytes(bytes.first<length_bytes>(), path);
    if (length > bytes.size() - length_bytes) {
        fail(path, "claims a header of " + std::to_string(length) +
                       " bytes, which is longer than the file");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + length_bytes, length);
    if (text.empty() || text.front() != '{') fail(path, "the header does not begin with '{'");
    return text;
}

std::vector<Entry> parse_entries(std::string_view text, const std::filesystem::path& path,
                                 std::map<std::string, std::string>& metadata) {
    const json object = parse_json(text, path);
    std::vector<Entry> entries;
    for (const auto& [name, value] : object.items()) {
        if (name == "__metadata__") {
            metadata = parse_metadata(value, path);
        } else {
            entries.push_back(parse_entry(name, value, path));
        }
    }
    return entries;
}

}  // namespace

std::size_t safetensors_header_bytes(std::span<const std::byte, 8> begin,
                                     const std::filesystem::path& origin) {
    std::uint64_t length = 0;
    std::memcpy(&length, begin.data(), length_bytes);
    if (length > largest_header) {
        fail(origin, "claims a header of " + std::to_string(length) + " bytes; the limit is " +
                         std::to_string(largest_header));
    }
    return static_cast<std::size_t>(length);
}

SafetensorsHeader parse_safetensors(std::span<const std::byte> file,
                                    const std::filesystem::path& origin) {
    const std::string_view text = header_text(file, origin);
    const auto data = file.subspan(length_bytes + text.size());
    SafetensorsHeader header;
    std::vector<Entry> entries = parse_entries(text, origin, header.metadata);
    require_tiling(entries, data.size(), origin);
    for (Entry& entry : entries) {
        entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
        header.tensors.emplace(entry.tensor.name, std::move(entry.tensor));
    }
    return header;
}

std::vector<Tensor> tensors_in_order(std::span<const std::byte> begin,
                                     const std::filesystem::path& origin) {
    std::map<std::string, std::string> metadata;
    std::vector<Entry> entries = parse_entries(header_text(begin, origin), origin, metadata);
    std::size_t size = 0;
    for (const Entry& entry : entries) size = std::max(size, entry.end);
    require_tiling(entries, size, origin);
    std::vector<Tensor> tensors;
    tensors.reserve(entries.size());
    for (Entry& entry : entries) tensors.push_back(std::move(entry.tensor));
    return tensors;
}

std::string encode_safetensors_header(const std::vector<Tensor>& tensors,
                                      const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header;
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::size_t position = 0;
    for (const Tensor& tensor : tensors) {
        require(!header.contains(tensor.name), "a safetensors file cannot hold a name twice");
        const std::size_t end = position + tensor.elements() * size_of(tensor.dtype);
        header[tensor.name] = {{"dtype", name_of(tensor.dtype)},
                               {"shape", tensor.shape},
                               {"data_offsets", {position, end}}};
        position = end;
    }
    std::string text = header.is_null() ? "{}" : header.dump();
    const std::size_t used = (length_bytes + text.size()) % data_alignment;
    if (used != 0) text.append(data_alignment - used, ' ');
    const std::uint64_t length = text.size();
    std::string field(length_bytes, '\0');
    std::memcpy(field.data(), &length, length_bytes);
    return field + text;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), header_(parse_safetensors(file_.bytes(), path)) {}

const Tensor& SafetensorsFile::tensor(std::string_view name) const {
    const auto found = tensors().find(name);
    if (found == tensors().end()) fail(path(), "has no tensor " + std::string(name));
    return found->second;
}

bool SafetensorsFile::contains(std::string_view name) const {
    return tensors().find(name) != tensors().end();
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     const std::vector<Tensor>& tensors,
                                     const std::map<std::string, std::string>& metadata,
                                     mode_t mode)
    : file_(path, mode) {
    const std::string header = encode_safetensors_header(tensors, metadata);
    file_.append(std::as_bytes(std::span(header)));
    for (const Tensor& tensor : tensors) missing_ += tensor.elements() * size_of(tensor.dtype);
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
    require(bytes.size() <= missing_, "SafetensorsWriter: more bytes than were declared");
    file_.append(bytes);
    missing_ -= bytes.size();
}

void SafetensorsWriter::finish() {
    require(missing_ == 0, "SafetensorsWriter: fewer bytes than were declared");
    file_.finish();
}

namespace {

std::size_t bytes_of(const std::vector<Tensor>& tensors) {
    std::size_t bytes = 0;
    for (const Tensor& tensor : tensors) bytes += tensor.elements() * size_of(tensor.dtype);
    return bytes;
}

}  // namespace

SafetensorsAssembly::SafetensorsAssembly(const std::filesystem::path& path,
                                         const std::vector<Tensor>& tensors, mode_t mode)
    : file_(path, encode_safetensors_header(tensors, {}).size() + bytes_of(tensors), mode) {
    const std::string header = encode_safetensors_header(tensors, {});
    const base::MappedFile present(path);
    const auto beginning = present.bytes().first(header.size());
    const auto expected = std::as_bytes(std::span(header));
    // A new file begins with zeros.
    if (beginning[0] == std::byte{0}) {
        file_.write_at(0, expected);
    } else if (!std::equal(beginning.begin(), beginning.end(), expected.begin())) {
        fail(path, "does not hold the tensors that are expected");
    }
    std::size_t position = header.size();
    for (const Tensor& tensor : tensors) {
        const std::size_t end = position + tensor.elements() * size_of(tensor.dtype);
        places_[tensor.name] = {position, end};
        position = end;
    }
}

/// Where `size` bytes from `offset` on of the tensor lie in the file.
std::size_t SafetensorsAssembly::place_of(const std::string& name, std::size_t size,
                                          std::size_t offset) const {
    const auto [begin, end] = places_.at(name);
    require(offset <= end - begin && size <= end - begin - offset,
            "SafetensorsAssembly: beyond the tensor");
    return begin + offset;
}

void SafetensorsAssembly::write(const std::string& name, std::span<const std::byte> bytes,
                                std::size_t offset) {
    file_.write_at(place_of(name, bytes.size(), offset), bytes);
}

void SafetensorsAssembly::read(const std::string& name, std::span<std::byte> bytes,
                               std::size_t offset) const {
    file_.read_at(place_of(name, bytes.size(), offset), bytes);
}

void write_safetensors(const std::filesystem::path& path, const std::vector<Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata, mode_t mode) {
    SafetensorsWriter writer(path, tensors, metadata, mode);
    for (const Tensor& tensor : tensors) {
        require(tensor.bytes.size() == tensor.elements() * size_of(tensor.dtype),
                "write_safetensors: the bytes of a tensor do not match its shape");
        writer.append(tensor.bytes);
    }
    writer.finish();
}

}  // namespace slip::importing
