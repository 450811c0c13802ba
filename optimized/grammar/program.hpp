// A grammar as a machine over bytes, with a stack of rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "optimized/grammar/rules.hpp"

namespace slip::grammar {

struct Node {
    enum class Kind : std::uint8_t {
        bytes,  ///< a byte from `low` to `high`, then `next`
        token,  ///< the special token `other`, then `next`
        split,  ///< `next` or `other`
        call,   ///< the rule that begins at `other`, then `next`
        end,    ///< of a rule
    };
    Kind kind = Kind::end;
    std::uint8_t low = 0, high = 0;
    std::uint32_t next = 0, other = 0;
};

struct Program {
    std::vector<Node> nodes;
    std::uint32_t root = 0;
};

/// Characters count as their bytes in UTF-8. Throws BadInput, naming the rule, if one is missing,
/// can call itself before it has taken a byte, or derives no text, and if there are more rules or
/// nodes than fit.
Program compile(const Rules& rules);

}  // namespace slip::grammar
