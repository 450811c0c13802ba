// The product's errors, and how it checks what its own functions require of each other.
#pragma once

#include <string>

#include "slip/error.hpp"

namespace slip::base {

/// Throws InternalError with `message` unless `condition` holds. Always on.
inline void require(bool condition, const char* message) {
    if (!condition) throw InternalError(message);
}

}  // namespace slip::base
