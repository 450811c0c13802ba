// UTF-8 in bytes that need not be UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace slip::importing {

/// Bytes of the character at the start of `text`, 1 to 4; 0 if it does not begin with a whole
/// character in the shortest form, no surrogate and not above U+10FFFF.
std::size_t utf8_character(std::string_view text);

/// Bytes of the longest start of `text` that is UTF-8.
std::size_t utf8_prefix(std::string_view text);

}  // namespace slip::importing
