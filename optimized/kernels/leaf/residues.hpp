// Arithmetic modulo the primes of RING-5, branch-free: for residues that are masks, keys to a check
// or activations, time must not depend on the value. Always inlined: a leaf that is compiled for
// one instruction set must not leave a copy that the linker could use for another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

/// The prime of a plane, and what its remainders are computed with.
struct Modulus {
    std::uint32_t prime;
    /// floor(2^23 / prime) < 2^16: see reduce_short().
    std::uint32_t short_reciprocal;
    /// ceil(2^39 / prime) = (2^39 + e) / prime with e < 2^8, below 2^32: the quotient of every
    /// v < 2^31 is floor(v reciprocal / 2^39), as v e < 2^39.
    std::uint32_t reciprocal;
    std::uint32_t power;  // 2^24 mod prime
    std::int64_t offset;  // the least multiple of prime that is no less than 2^46
};

constexpr Modulus modulus_of(std::uint32_t prime) {
    return {prime, (1U << 23) / prime,
            static_cast<std::uint32_t>(((std::uint64_t{1} << 39) + prime - 1) / prime),
            (1U << 24) % prime, ((std::int64_t{1} << 46) + prime - 1) / prime * prime};
}

/// Index = plane.
inline constexpr std::array<Modulus, 7> moduli{modulus_of(251), modulus_of(241), modulus_of(239),
                                               modulus_of(233), modulus_of(229), modulus_of(227),
                                               modulus_of(223)};
static_assert([] {
    for (std::size_t p = 0; p < moduli.size(); ++p) {
        if (moduli[p].prime != base::parameters::primes[p]) return false;
    }
    return moduli.size() == base::parameters::primes.size();
}());

/// x mod p for x < 2 p (RING-1): x - p wraps, and its highest bit is set, if x < p.
[[gnu::always_inline]] constexpr std::uint32_t canonical(std::uint32_t x, std::uint32_t prime) {
    const std::uint32_t difference = x - prime;
    return difference + (prime & (0 - (difference >> 31)));
}

/// v mod p for v <= 2^16 + 2^10, so that v short_reciprocal < 2^32. As short_reciprocal is above
/// 2^23 / p - 1, the quotient is above v / p - 1 / 64 - 1: it is the right one or one less.
[[gnu::always_inline]] constexpr std::uint32_t reduce_short(std::uint32_t v, const Modulus& m) {
    return canonical(v - (v * m.short_reciprocal >> 23) * m.prime, m.prime);
}

/// v mod p for |v| < 2^46. A multiple of p makes it non-negative, below 2^47 + 2^8; as 2^24 =
/// power mod p, at most 2^23 * 250 + 2^24 < 2^31 is left of it.
[[gnu::always_inline]] constexpr std::uint8_t reduce(std::int64_t v, const Modulus& m) {
    const auto u = static_cast<std::uint64_t>(v + m.offset);
    const std::uint64_t folded = (u >> 24) * m.power + (u & 0xffffff);
    const std::uint64_t quotient = folded * m.reciprocal >> 39;
    return static_cast<std::uint8_t>(folded - quotient * m.prime);
}

/// The centred representative of a residue (RING-3): r if r <= (p - 1) / 2, else r - p.
[[gnu::always_inline]] inline std::int32_t lift(std::uint32_t r, std::uint32_t prime) {
    std::uint32_t above = ((prime - 1) / 2 - r) >> 31;
    // clang would see that it is 0 or 1, and branch on it. MemorySanitizer would take what assembly
    // reads for a branch.
#if defined(__clang__) && !defined(SLIP_MEMORY_SANITIZER)
    asm("" : "+r"(above));
#endif
    return static_cast<std::int32_t>(r - (prime & (0 - above)));
}

/// RING-5: r = sum_p (r_p inverse_p mod p_p) weight_p mod L, weight_p = L / p_p.
struct Recombination {
    std::int64_t modulus = 1;
    std::array<std::uint32_t, 7> inverse{};
    std::array<std::int64_t, 7> weight{};
};

constexpr Recombination recombination_of(std::size_t planes) {
    Recombination result;
    result.modulus = static_cast<std::int64_t>(base::parameters::modulus(planes));
    for (std::size_t p = 0; p < planes; ++p) {
        result.weight[p] = result.modulus / moduli[p].prime;
        while (result.weight[p] % moduli[p].prime * result.inverse[p] % moduli[p].prime != 1) {
            ++result.inverse[p];
        }
    }
    return result;
}

/// Index = planes.
inline constexpr std::array<Recombination, 8> recombinations{
    Recombination{},     recombination_of(1), recombination_of(2), recombination_of(3),
    recombination_of(4), recombination_of(5), recombination_of(6), recombination_of(7)};

/// The centred representative mod L of s, 0 <= s < planes L, which 7 * 2^55 bounds: what exceeds
/// (L - 1) / 2 loses L, as often as it can.
[[gnu::always_inline]] constexpr std::int64_t centre(std::int64_t s, std::size_t planes) {
    const std::int64_t modulus = recombinations[planes].modulus;
    for (std::size_t i = 0; i < planes; ++i) {
        std::int64_t above = ((modulus - 1) / 2 - s) >> 63;
#if defined(__clang__)
        asm("" : "+r"(above));  // clang would see that it is 0 or -1, and branch on it
#endif
        s -= modulus & above;
    }
    return s;
}

}  // namespace slip::kernels
