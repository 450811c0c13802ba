// What may go to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace slip::tool {

/// Messages quote files and peers, so they may hold what a terminal would obey: every byte that is
/// not part of a printable character in UTF-8 becomes \xNN.
std::string printable(std::string_view text);

}  // namespace slip::tool
