#include "optimized/import/utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace slip::importing {
namespace {

bool is_between(char byte, std::uint8_t least, std::uint8_t most) {
    const auto value = static_cast<std::uint8_t>(byte);
    return least <= value && value <= most;
}

}  // namespace

// The table of well-formed sequences in the Unicode Standard (3.9): only the second byte's range
// depends on the first byte.
std::size_t utf8_character(std::string_view text) {
    if (text.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(text[0]);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
    const std::uint8_t least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const std::uint8_t most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (!is_between(text[1], least, most)) return 0;
    const std::string_view rest = text.substr(2, length - 2);
    const bool complete = std::all_of(rest.begin(), rest.end(),
                                      [](char byte) { return is_between(byte, 0x80, 0xbf); });
    return complete ? length : 0;
}

std::size_t utf8_prefix(std::string_view text) {
    std::size_t at = 0;
    while (const std::size_t length = utf8_character(text.substr(at))) at += length;
    return at;
}

}  // namespace slip::importing
