// How the factors are packed (PARAM-2: 12 bits per entry): three registers of 16-bit lanes hold
// four. The entries of the first three stand in the upper 12 bits of their lanes; the 4 bits below
// them are, in this order from the least, those of the fourth.
//
// B is cut into groups of 8 rows and slices of 128 columns, [ceil(k/8)][ceil(n/128)][8], padded
// with zeros, each of them four registers in three, so that a group is read from its beginning to
// its end.
//
// A is cut into passes of 128 columns, panels of 64 rows and pairs of columns,
// [ceil(k/128)][ceil(m/64)][pairs of the pass], padded with zeros: the pairs of a panel are four
// registers of 16 rows in three. Behind them stand the exponents of the rows.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"

namespace slip::kernels::avx512 {

static_assert(base::parameters::largest_factor < 1 << 11);

constexpr std::size_t packed_lanes = 32;                  // entries a register
constexpr std::size_t four_bytes = packed_lanes * 2 * 3;  // four registers, packed

constexpr std::size_t group_rows = 8, slice = 4 * packed_lanes;  // of B

[[gnu::always_inline]] static constexpr std::size_t groups_of(std::size_t k) {
    return (k + group_rows - 1) / group_rows;
}
[[gnu::always_inline]] static constexpr std::size_t slices_of(std::size_t n) {
    return (n + slice - 1) / slice;
}

/// Where the exponents of A begin.
[[gnu::always_inline]] static constexpr std::size_t exponents_at(std::size_t m, std::size_t k) {
    return panels_of(m) * pairs_of(k) * four_bytes;
}

/// entry(g, lane): the entry of lane `lane` of register g < 4, in -2047 .. 2047.
template <class Entry>
[[gnu::always_inline]] static inline void pack_four(const Entry& entry, std::uint8_t* packed) {
    for (std::size_t lane = 0; lane < packed_lanes; ++lane) {
        const auto fourth = static_cast<unsigned>(entry(3, lane));
#pragma GCC unroll 3
        for (std::size_t g = 0; g < 3; ++g) {
            const unsigned nibble = (fourth >> (4 * g)) & 15;
            const unsigned bits = (static_cast<unsigned>(entry(g, lane)) << 4) | nibble;
            std::uint8_t* const place = packed + (g * packed_lanes + lane) * 2;
            place[0] = static_cast<std::uint8_t>(bits);
            place[1] = static_cast<std::uint8_t>(bits >> 8);
        }
    }
}

/// The four registers, their entries as signed 16-bit numbers.
struct Four {
    __m512i a, b, c, d;
};

/// What is read this many bytes later is asked for: the factors of a large layer come from the
/// third cache or from memory, and the stream is found sooner so. Nothing faults behind the end.
constexpr std::size_t ahead = 16 * four_bytes;

[[gnu::always_inline]] static inline Four unpack_four(const std::uint8_t* packed) {
    const auto later = reinterpret_cast<std::uintptr_t>(packed) + ahead;
    for (std::size_t line = 0; line < four_bytes; line += 64) {
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer may not go as far behind the end
        _mm_prefetch(reinterpret_cast<const void*>(later + line), _MM_HINT_T0);
    }
    const __m512i a = _mm512_loadu_si512(packed);
    const __m512i b = _mm512_loadu_si512(packed + 2 * packed_lanes);
    const __m512i c = _mm512_loadu_si512(packed + 4 * packed_lanes);
    // The nibbles of c, b and a, one below the other.
    const __m512i nibble = _mm512_set1_epi16(15);
    __m512i d = _mm512_or_si512(_mm512_slli_epi16(c, 4), _mm512_and_si512(b, nibble));
    d = _mm512_or_si512(_mm512_slli_epi16(d, 4), _mm512_and_si512(a, nibble));
    return {_mm512_srai_epi16(a, 4), _mm512_srai_epi16(b, 4), _mm512_srai_epi16(c, 4),
            _mm512_srai_epi16(_mm512_slli_epi16(d, 4), 4)};
}

}  // namespace slip::kernels::avx512
