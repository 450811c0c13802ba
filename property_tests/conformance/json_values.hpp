// The vectors' JSON as values of the product, and back: conformance/README.md describes it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/matrix_view.hpp"

namespace slip::answers {

using Json = nlohmann::json;
using Bytes = std::vector<std::byte>;
/// Residues of columns, plane after plane, one column after the other.
using Residues = std::vector<std::uint8_t>;
using Products = std::vector<std::int64_t>;

/// The case is invalid: a step refuses its input, as it must.
class Refused : public std::runtime_error {
public:
    explicit Refused(const std::string& why, Json what = nullptr)
        : std::runtime_error(why), output(std::move(what)) {}
    Json output;  ///< what was sent before, or null
};

/// No function of the product does what the case asks for.
class Unimplemented : public std::exception {};

inline Bytes bytes_of(const Json& hex) {
    const auto& text = hex.get_ref<const std::string&>();
    const auto value_of = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
    Bytes bytes(text.size() / 2);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        bytes[i] = static_cast<std::byte>(16 * value_of(text[2 * i]) + value_of(text[2 * i + 1]));
    }
    return bytes;
}

inline Json hex_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
        text += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
    }
    return text;
}

/// A column is one hex string.
inline Residues column_of(const Json& hex) {
    const Bytes bytes = bytes_of(hex);
    Residues residues(bytes.size());
    std::transform(bytes.begin(), bytes.end(), residues.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    return residues;
}
inline Json hex_of_residues(std::span<const std::uint8_t> residues) {
    return hex_of(std::as_bytes(residues));
}
/// A message, or combinations: its columns joined.
inline Residues columns_of(const Json& columns) {
    Residues joined;
    for (const Json& column : columns) {
        const Residues residues = column_of(column);
        joined.insert(joined.end(), residues.begin(), residues.end());
    }
    return joined;
}
/// The reverse, for columns of `bytes_each` bytes.
inline Json columns_json(std::span<const std::uint8_t> residues, std::size_t bytes_each) {
    Json columns = Json::array();
    for (std::size_t at = 0; at < residues.size(); at += bytes_each) {
        columns.push_back(hex_of_residues(residues.subspan(at, bytes_each)));
    }
    return columns;
}

template <class T, std::size_t n>
std::array<T, n> array_of(const Json& hex) {
    const Bytes bytes = bytes_of(hex);
    std::array<T, n> result{};
    std::transform(bytes.begin(), bytes.end(), result.begin(),
                   [](std::byte byte) { return std::to_integer<T>(byte); });
    return result;
}

inline float float_of(const Json& bits) {
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(std::stoul(bits.get<std::string>(), nullptr, 16)));
}

inline double double_of(const Json& bits) {
    return std::bit_cast<double>(std::uint64_t{std::stoull(bits.get<std::string>(), nullptr, 16)});
}

/// Digits of a number of `bits` bits.
inline Json digits_of(std::uint64_t number, int bits) {
    std::string text;
    for (int shift = bits - 4; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[(number >> shift) & 15];
    }
    return text;
}
inline Json bits_of(float value) { return digits_of(std::bit_cast<std::uint32_t>(value), 32); }
inline Json bits_of(double value) { return digits_of(std::bit_cast<std::uint64_t>(value), 64); }

inline std::vector<float> floats_of(const Json& bits) {
    std::vector<float> values;
    for (const Json& entry : bits) values.push_back(float_of(entry));
    return values;
}

inline Json bits_of(std::span<const float> values) {
    Json result = Json::array();
    for (const float value : values) result.push_back(bits_of(value));
    return result;
}

/// A matrix by rows, or a message by columns: lists of equal length, one after the other.
template <class T>
struct Table {
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::vector<T> entries;

    explicit Table(const Json& lists) : rows(lists.size()) {
        for (const Json& list : lists) {
            cols = list.size();
            for (const Json& entry : list) entries.push_back(entry.get<T>());
        }
        base::require(entries.size() == rows * cols, "the lists of a table have one length");
    }
    base::MatrixView<const T> view() const { return {entries.data(), rows, cols}; }
};

/// Cuts `entries` into lists of `length`.
template <class T>
Json lists_of(const std::vector<T>& entries, std::size_t length) {
    Json lists = Json::array();
    for (std::size_t i = 0; i < entries.size(); i += length) {
        lists.push_back(std::vector<T>(entries.begin() + static_cast<std::ptrdiff_t>(i),
                                       entries.begin() + static_cast<std::ptrdiff_t>(i + length)));
    }
    return lists;
}

}  // namespace slip::answers
