// SHA-256 (FIPS 180-4): digests of files that an artifact names.
#pragma once

#include <array>
#include <cstdint>

#include "reference/randomness.hpp"

namespace slip::reference {

/// The digest of any bytes (CONV-2), in the order in which FIPS 180-4 outputs it.
std::array<std::uint8_t, 32> sha256(const Bytes& message);

}  // namespace slip::reference
