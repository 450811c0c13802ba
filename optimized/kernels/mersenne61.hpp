// Arithmetic modulo p = 2^61 - 1, branch-free: for residues that are masks, keys to a check, or
// activations, time must not depend on the value. Always inlined: a leaf that is compiled for one
// instruction set must not leave a copy that the linker could use for another.
#pragma once

#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

/// x mod p for 0 <= x <= 2 p - 1 (RING-1). If x >= p then x + 1 >= 2^61 and x - p = x + 1 - 2^61;
/// the carry into bit 61 decides.
[[gnu::always_inline]] constexpr std::uint64_t canonical_p61(std::uint64_t x) {
    return (x + ((x + 1) >> 61)) & P61::p;
}

/// x mod p for every 64-bit x (RING-4): the bits above the 61st are at most 7, and p + 7 < 2 p.
[[gnu::always_inline]] constexpr std::uint64_t reduce_p61(std::uint64_t x) {
    return canonical_p61((x & P61::p) + (x >> 61));
}

/// x mod p for every 128-bit x (RING-4): x < 2^128 folds to less than 2^61 + 2^67 < 2^68, that to
/// less than 2^61 + 2^7 <= 2 p.
[[gnu::always_inline]] constexpr std::uint64_t reduce_p61_wide(UInt128 x) {
    x = (x & P61::p) + (x >> 61);
    x = (x & P61::p) + (x >> 61);
    return canonical_p61(static_cast<std::uint64_t>(x));
}

/// v mod p for |v| < p (RING-2).
[[gnu::always_inline]] constexpr std::uint64_t embed_p61(std::int64_t v) {
    return canonical_p61(static_cast<std::uint64_t>(v + std::int64_t{P61::p}));
}

/// The centred representative of a residue (RING-3): r if r <= (p - 1) / 2 = 2^60 - 1, else r - p.
/// Bit 60 of r decides; r - p = r + 1 - 2^61. Compilers make a branch of a comparison here.
[[gnu::always_inline]] constexpr std::int64_t lift_p61(std::uint64_t r) {
    const std::uint64_t above = r >> 60;
    return static_cast<std::int64_t>(r + above - (above << 61));
}

}  // namespace slip::kernels
