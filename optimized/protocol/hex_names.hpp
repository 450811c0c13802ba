// Names of 32 hexadecimal digits in the state folder. Private to this room.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "optimized/protocol/mask_stream.hpp"

namespace slip::protocol {

inline constexpr std::size_t name_bytes = 16;

inline std::string hex(std::span<const std::uint8_t, name_bytes> bytes) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text.push_back(digits[byte >> 4]);
        text.push_back(digits[byte & 15]);
    }
    return text;
}

/// A name that no other call gives.
inline std::string random_name() {
    std::array<std::uint8_t, base::parameters::session_key_bytes> bytes{};
    draw_key(bytes);
    return hex(std::span(std::as_const(bytes)).first<name_bytes>());
}

}  // namespace slip::protocol
