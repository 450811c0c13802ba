// Small GGUF files, field by field, so that each can also be wrong.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace slip::testing {

/// Numbers of the format.
enum class GgufKind : std::uint32_t {
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
enum class GgufElement : std::uint32_t { f32 = 0, f16 = 1, q4_k = 12, q8_0 = 8, bf16 = 30 };

template <class T>
std::string raw(const T& value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

inline std::string gguf_text(const std::string& text) {
    return raw(std::uint64_t{text.size()}) + text;
}

inline std::string number_of(GgufKind kind) { return raw(static_cast<std::uint32_t>(kind)); }

/// The header's fields are as the lists imply, unless they are set.
struct GgufWriter {
    struct Tensor {
        std::string name;
        std::vector<std::uint64_t> extents;  // columns first
        GgufElement element = GgufElement::f32;
        std::string bytes;
        std::uint64_t offset_error = 0;
    };

    std::string magic = "GGUF";
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;
    std::int64_t further_keys = 0;  // more than there are
    std::int64_t further_tensors = 0;
    std::vector<std::pair<std::string, std::string>> metadata;  // key -> kind and value
    std::vector<Tensor> tensors;

    void add(const std::string& key, const std::string& text) {
        metadata.emplace_back(key, number_of(GgufKind::text) + gguf_text(text));
    }
    void add(const std::string& key, std::uint32_t value) {
        metadata.emplace_back(key, number_of(GgufKind::u32) + raw(value));
    }
    void add(const std::string& key, float value) {
        metadata.emplace_back(key, number_of(GgufKind::f32) + raw(value));
    }
    void add(const std::string& key, bool value) {
        metadata.emplace_back(key, number_of(GgufKind::boolean) + raw(std::uint8_t{value}));
    }
    void add(const std::string& key, const std::vector<std::string>& texts) {
        std::string value = number_of(GgufKind::array) + number_of(GgufKind::text) +
                            raw(std::uint64_t{texts.size()});
        for (const std::string& text : texts) value += gguf_text(text);
        metadata.emplace_back(key, value);
    }
    template <class T>
    void add_array(const std::string& key, GgufKind kind, const std::vector<T>& values) {
        std::string value =
            number_of(GgufKind::array) + number_of(kind) + raw(std::uint64_t{values.size()});
        for (const T& element : values) value += raw(element);
        metadata.emplace_back(key, value);
    }

    std::string file() const {
        std::string bytes = magic + raw(version) +
                            raw(static_cast<std::uint64_t>(
                                static_cast<std::int64_t>(tensors.size()) + further_tensors)) +
                            raw(static_cast<std::uint64_t>(
                                static_cast<std::int64_t>(metadata.size()) + further_keys));
        for (const auto& [key, value] : metadata) bytes += gguf_text(key) + value;
        std::string data;
        for (const Tensor& tensor : tensors) {
            bytes +=
                gguf_text(tensor.name) + raw(static_cast<std::uint32_t>(tensor.extents.size()));
            for (const std::uint64_t extent : tensor.extents) bytes += raw(extent);
            bytes += raw(static_cast<std::uint32_t>(tensor.element)) +
                     raw(std::uint64_t{data.size()} + tensor.offset_error);
            data += tensor.bytes;
            data.resize((data.size() + alignment - 1) / alignment * alignment);
        }
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
        return bytes + data;
    }
};

}  // namespace slip::testing
