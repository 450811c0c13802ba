// The constants of protocol version 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "reference/hidden_widths.hpp"
#include "reference/planes.hpp"

namespace slip::reference {

/// PARAM-5. What lattice masks are made of (MASK-7), and the bounds under which they vanish
/// (MASK-8).
struct LatticeParameters {
    std::size_t N;  ///< degree of X^N + 1, and masks per block
    std::size_t d;  ///< ring elements of a secret; the lattice has dimension d N
    unsigned eta;   ///< secrets and noise are centred binomial, of eta + eta bits
    Integer tau;    ///< noise is a multiple of it, coprime to L
    Integer B_w;    ///< no row of W_D has a larger 2-norm
    Integer B_q;    ///< no activation has a larger 2-norm
    Integer Delta;  ///< a cancellation may be off by tau times at most this
};

/// PARAM-1. A set of parameters fixes the primes whose product is the modulus L. A residue is one
/// byte per prime.
struct ParameterSet {
    std::string name;
    std::uint8_t code;  ///< its name on the wire
    Planes planes;
    std::size_t combinations;                                 ///< kappa
    std::optional<LatticeParameters> lattice = std::nullopt;  ///< absent: masks are uniform
    /// HIDE-1. Whether David's matrices are hidden. Then tau, B_w and B_q depend on the width.
    bool hides_weights = false;
    std::optional<HiddenWidth> width = std::nullopt;  ///< of a matrix, as at_width() sets it

    const Ring& ring() const { return planes.ring(); }
};

/// PARAM-1. The paper's split, uniform masks: h = 4, L = 251 * 241 * 239 * 233. A wrong reply
/// passes with probability at most 233^-8.
inline ParameterSet paper() { return {"paper", 1, Planes({251, 241, 239, 233}), 8}; }

/// PARAM-1. The paper's split, lattice masks: h = 5, L = 251 * 241 * 239 * 233 * 229. A wrong reply
/// passes with probability at most 229^-8.
inline ParameterSet paper_lattice() {
    const LatticeParameters lattice{256, 8, 2, 16777216, 1736, 4832, 64};
    return {"paper-lattice", 2, Planes({251, 241, 239, 233, 229}), 8, lattice};
}

/// PARAM-1. The hidden split, lattice masks: h = 6, L = 251 * 241 * 239 * 233 * 229 * 227. A wrong
/// reply passes with probability at most 227^-8. at_width() gives tau, B_w and B_q.
inline ParameterSet hidden() {
    const LatticeParameters lattice{256, 9, 1, 0, 0, 0, 4096};
    return {"hidden", 3, Planes({251, 241, 239, 233, 229, 227}), 8, lattice, true};
}

/// HIDE-2. The parameters for matrices of `n` columns: the set, with the norms and tau of the
/// width. Errors: a set without the hidden split; n outside 1..6144.
inline ParameterSet at_width(ParameterSet set, std::size_t n) {
    require(set.hides_weights, "the set has the hidden split");
    set.width = hidden_width(n);
    set.lattice->tau = set.width->tau;
    set.lattice->B_w = set.lattice->B_q = set.width->B;
    return set;
}

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
