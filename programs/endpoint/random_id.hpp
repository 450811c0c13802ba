// Names of answers and calls.
#pragma once

#include <string>

namespace slip::endpoint {

/// `prefix` and 24 random hexadecimal digits.
std::string random_id(const char* prefix);

}  // namespace slip::endpoint
