// How bad input is refused.
#pragma once

#include <functional>
#include <string>

#include "optimized/base/error.hpp"

namespace slip::testing {

/// The message of the BadInput that `action` throws, or "accepted".
inline std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const BadInput& error) {
        return error.what();
    }
    return "accepted";
}

}  // namespace slip::testing
