// Arithmetic modulo p = 2^31 - 1, branch-free: for residues that are masks, keys to a check, or
// activations, time must not depend on the value. Always inlined: a leaf that is compiled for one
// instruction set must not leave a copy that the linker could use for another.
#pragma once

#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

/// x mod p for 0 <= x <= 2 p - 1, which is what a sum or a difference of two residues leaves
/// (RING-1). If x >= p then x + 1 >= 2^31 and x - p = x + 1 - 2^31; the carry into bit 31 decides.
/// x + 1 <= 2 p = 2^32 - 2 does not wrap.
[[gnu::always_inline]] constexpr std::uint32_t canonical_p31(std::uint32_t x) {
    return (x + ((x + 1) >> 31)) & P31::p;
}

/// x mod p for every 64-bit x (RING-4), by folding: 2^31 = 1 mod p, so the bits above the 31st are
/// added to those below. x < 2^64 folds to less than 2^31 + 2^33 < 2^34, and that to less than
/// 2^31 + 2^3 <= 2 p.
[[gnu::always_inline]] constexpr std::uint32_t reduce_p31(std::uint64_t x) {
    x = (x & P31::p) + (x >> 31);
    x = (x & P31::p) + (x >> 31);
    return canonical_p31(static_cast<std::uint32_t>(x));
}

/// v mod p for |v| <= p 2^31 (RING-2): a multiple of p makes it non-negative, at most
/// p 2^32 < 2^63.
[[gnu::always_inline]] constexpr std::uint32_t embed_p31(std::int64_t v) {
    constexpr std::int64_t offset = std::int64_t{P31::p} << 31;
    return reduce_p31(static_cast<std::uint64_t>(v + offset));
}

/// The centred representative of a residue (RING-3): r if r <= (p - 1) / 2 = 2^30 - 1, else r - p.
/// Bit 30 of r decides; r - p = r + 1 - 2^31. Compilers make a branch of a comparison here.
[[gnu::always_inline]] constexpr std::int32_t lift_p31(std::uint32_t r) {
    const std::uint32_t above = r >> 30;
    return static_cast<std::int32_t>(r + above - (above << 31));
}

}  // namespace slip::kernels
