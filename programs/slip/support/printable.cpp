#include "programs/slip/support/printable.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace slip::tool {
namespace {

/// The length of the UTF-8 sequence at the beginning of `text` that encodes one character other
/// than a control character; 0 if there is none. Overlong forms and surrogates begin no such
/// sequence.
std::size_t printable_sequence(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
    if (byte(0) < 0xc0) return 0;  // continues a sequence that has not begun
    const std::size_t length = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (byte(0) > 0xf4 || text.size() < length) return 0;
    std::uint32_t character = byte(0) & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
        character = character << 6 | (byte(i) & 0x3fU);
    }
    constexpr std::uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    const bool surrogate = character >= 0xd800 && character < 0xe000;
    return character >= least[length] && character <= 0x10ffff && !surrogate ? length : 0;
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr const char* digits = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        const std::size_t length = printable_sequence(text);
        if (length == 0) {
            const auto byte = static_cast<unsigned char>(text[0]);
            shown.append("\\x").append(1, digits[byte >> 4]).append(1, digits[byte & 15U]);
        } else {
            shown.append(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return shown;
}

}  // namespace slip::tool
