// The constants of protocol version 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "reference/planes.hpp"

namespace slip::reference {

/// PARAM-1. A set of parameters fixes the primes whose product is the modulus L. A residue is one
/// byte per prime.
struct ParameterSet {
    std::string name;
    std::uint8_t code;  ///< its name on the wire
    Planes planes;
    std::size_t combinations;  ///< kappa

    const Ring& ring() const { return planes.ring(); }
};

/// PARAM-1. The paper's split, uniform masks: h = 4, L = 251 * 241 * 239 * 233. A wrong reply
/// passes with probability at most 233^-8.
inline ParameterSet paper() { return {"paper", 1, Planes({251, 241, 239, 233}), 8}; }

/// RING-5. The primes that sets take in this order.
inline const std::vector<Integer> all_primes{251, 241, 239, 233, 229, 227, 223};

// PARAM-2. The widths of the integer model W_int = 2^t W_D + A B.
inline constexpr unsigned fraction_bits = 16;                    ///< t
inline constexpr std::int32_t largest_weight = 127;              ///< |W_D(i, j)|, int8
inline constexpr std::int32_t largest_right_factor = 2047;       ///< |B(c, j)|, 12 bits
inline constexpr std::int32_t largest_significand = 2047;        ///< |a|, A(i, c) = 2^e_i a
inline constexpr unsigned largest_row_exponent = 20;             ///< e_i of a row of A
inline constexpr std::int64_t largest_left_factor = 2146435072;  ///< |A(i, c)| (= 2047 * 2^20)
inline constexpr std::int32_t largest_activation_norm = 32767;   ///< B_q never exceeds this
inline constexpr std::int32_t smallest_activation_norm = 1024;   ///< a group below it is refused

// The limits of a message, and the version that HELLO announces.
inline constexpr std::uint32_t largest_columns = 4096;
inline constexpr std::uint64_t largest_residue_bytes = std::uint64_t{1} << 26;
inline constexpr std::uint64_t largest_frame = largest_residue_bytes + 64;
inline constexpr std::uint16_t protocol_version = 2;

}  // namespace slip::reference
