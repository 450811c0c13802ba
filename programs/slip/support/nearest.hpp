// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <span>
#include <string>

namespace slip::tool {

/// "; did you mean NAME?" if one of `known` is `name` but for a slip of the hand: an edit in three
/// letters at most, two neighbours exchanged counting as one, or a beginning that only one of them
/// has. Empty otherwise. `before` is written before the name, such as "--".
std::string did_you_mean(const std::string& name, std::span<const std::string> known,
                         const std::string& before = {});

}  // namespace slip::tool
