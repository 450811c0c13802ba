// The constants of protocol version 1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/integer.hpp"

namespace slip::reference {

/// PARAM-1. A profile fixes the modulus L, the bytes a residue takes on the wire, and the number
/// kappa of repetitions of the integrity check.
struct Profile {
    std::uint8_t number;        ///< its name on the wire
    Integer modulus;            ///< L, prime
    std::size_t residue_bytes;  ///< 256^residue_bytes >= L
    std::size_t repetitions;    ///< kappa

    friend bool operator==(const Profile&, const Profile&) = default;
};

/// PARAM-1. L = 2^31 - 1, four bytes, kappa = 2: a wrong reply passes with probability L^-2.
inline Profile p31() { return {1, (Integer(1) << 31) - 1, 4, 2}; }

// PARAM-2. The widths of the integer model W_int = 2^t W_D + A B.
inline constexpr unsigned fraction_bits = 16;                    ///< t
inline constexpr std::int32_t largest_weight = 127;              ///< |W_D(i, j)|, int8
inline constexpr std::int32_t largest_right_factor = 2047;       ///< |B(c, j)|, 12 bits
inline constexpr std::int32_t largest_significand = 2047;        ///< |a|, A(i, c) = 2^e_i a
inline constexpr unsigned largest_row_exponent = 20;             ///< e_i of a row of A
inline constexpr std::int64_t largest_left_factor = 2146435072;  ///< |A(i, c)| (= 2047 * 2^20)
inline constexpr std::int32_t largest_quantised_value = 32767;   ///< qa_max never exceeds this
inline constexpr std::int32_t smallest_useful_activation = 127;  ///< a group below it is refused

// The limits of a message, and the version that HELLO announces.
inline constexpr std::uint32_t largest_columns = 4096;
inline constexpr std::uint64_t largest_residue_bytes = std::uint64_t{1} << 26;
inline constexpr std::uint64_t largest_frame = largest_residue_bytes + 64;
inline constexpr std::uint16_t protocol_version = 1;

}  // namespace slip::reference
