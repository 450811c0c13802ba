// Parameters of the protocol, PARAM-1 to PARAM-4.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace slip {

/// The modulus and the width of a residue; the value is its code on the wire (WIRE-2).
enum class Profile : std::uint8_t { p31 = 1, p61 = 2 };

inline constexpr std::uint16_t protocol_version = 1;

/// Repetitions of the integrity check in P31, kappa: soundness (2^31 - 1)^-2 a column.
inline constexpr std::size_t kappa_p31 = 2;

/// PARAM-3.
inline constexpr std::size_t max_columns = 4096;
inline constexpr std::size_t max_residue_bytes = std::size_t{1} << 26;

/// Columns that fit one message of a group with `n` inputs and `rows` outputs, both at least 1,
/// such that APPLY and REPLY stay within PARAM-3; 0 if not one fits.
constexpr std::size_t columns_that_fit(std::size_t n, std::size_t rows) {
    constexpr std::size_t residue_bytes = 4;
    return std::min(max_columns, max_residue_bytes / (residue_bytes * std::max(n, rows)));
}

/// SHA-256 of David's weight file (SESS-2).
using Digest = std::array<std::uint8_t, 32>;

}  // namespace slip
