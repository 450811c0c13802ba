// UTF-8 in bytes that need not be UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace slip::importing {

/// Bytes of the character at the start of `text`, 1 to 4; 0 if it does not begin with a whole
/// character in the shortest form, no surrogate and not above U+10FFFF.
std::size_t utf8_character(std::string_view text);

/// Bytes of the longest start of `text` that is UTF-8.
std::size_t utf8_prefix(std::string_view text);

/// Bytes of `text` without the beginning of a character, 1 to 3 bytes, that ends it: what more
/// bytes leave as it is.
std::size_t utf8_without_cut(std::string_view text);

/// `text` with U+FFFD for every longest run of bytes that begins a character and does not end one,
/// and for every other byte that is not UTF-8.
std::string utf8_repaired(std::string_view text);

/// Bytes of the white space (Unicode's property White_Space) at the start and at the end of `text`.
std::size_t leading_white_space(std::string_view text);
std::size_t trailing_white_space(std::string_view text);

}  // namespace slip::importing
