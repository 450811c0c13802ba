// --state: where Charlie's commands keep what outlives them.
#pragma once

#include <filesystem>

#include "programs/slip/options.hpp"

namespace slip::tool {

/// Declares --state.
void add_state_flag(Options& options);

/// --state, or $SLIP_STATE, or `slip` in $XDG_STATE_HOME, or in ~/.local/state. Throws BadInput if
/// nothing says where that is.
std::filesystem::path state_folder(const Options& options);

}  // namespace slip::tool
