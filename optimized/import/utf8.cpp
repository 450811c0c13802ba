#include "optimized/import/utf8.hpp"

#include <algorithm>
#include <cstdint>

namespace slip::importing {
namespace {

bool is_between(char byte, std::uint8_t least, std::uint8_t most) {
    const auto value = static_cast<std::uint8_t>(byte);
    return least <= value && value <= most;
}

/// Bytes of the character of white space at the start of `text`, or 0.
std::size_t white_space(std::string_view text) {
    if (text.empty()) return 0;
    if ((text[0] >= '\t' && text[0] <= '\r') || text[0] == ' ') return 1;
    for (const std::string_view character :
         {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
          "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f",
          "\u3000"}) {
        if (text.starts_with(character)) return character.size();
    }
    return 0;
}

/// Whether 1 to 3 bytes become a character with more of them.
bool begins_character(std::string_view bytes) {
    for (const char* filling : {"\x80\x80\x80", "\x90\x80\x80", "\xa0\x80\x80"}) {
        if (utf8_character(std::string(bytes) + filling) > bytes.size()) return true;
    }
    return false;
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

std::size_t utf8_without_cut(std::string_view text) {
    for (std::size_t tail = 1; tail <= std::min<std::size_t>(3, text.size()); ++tail) {
        const std::size_t begin = text.size() - tail;
        if (begins_character(text.substr(begin))) return begin;
    }
    return text.size();
}

std::string utf8_repaired(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t valid = utf8_prefix(text);
        result += text.substr(0, valid);
        text.remove_prefix(valid);
        if (text.empty()) break;
        std::size_t run = std::min<std::size_t>(3, text.size());
        while (run > 1 && !begins_character(text.substr(0, run))) --run;
        result += "\ufffd";
        text.remove_prefix(run);
    }
    return result;
}

std::size_t leading_white_space(std::string_view text) {
    std::size_t at = 0;
    while (const std::size_t length = white_space(text.substr(at))) at += length;
    return at;
}

std::size_t trailing_white_space(std::string_view text) {
    std::size_t begin = text.size();
    while (begin > 0) {
        std::size_t length = 1;
        while (length < 3 && length < begin && (text[begin - length] & 0xc0) == 0x80) ++length;
        if (white_space(text.substr(begin - length, length)) != length) break;
        begin -= length;
    }
    return text.size() - begin;
}

}  // namespace slip::importing
