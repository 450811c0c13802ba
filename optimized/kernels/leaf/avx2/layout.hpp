// What the kernels of this backend share: the packed layouts.
//
// W is cut into panels of 16 rows and steps of 2 columns, [ceil(m/16)][ceil(n/2)][16][2], padded
// with zeros. Widened to 16 bits, 8 rows of a step are a register whose 32-bit lanes are rows, each
// with the 2 weights that vpmaddwd multiplies by 2 elements of a vector (../plane_pairs.hpp) and
// sums, exactly.
//
// A is cut into groups of 8 rows and pairs of columns, [ceil(m/8)][ceil(k/2)][8][2], padded with
// zeros, in 16 bits per entry: a register is a pair of columns of a group. Entries are shifted
// right by their row's exponent; behind them stand the exponents, one byte per row.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels::avx2 {

constexpr std::size_t panel_rows = 16;
constexpr std::size_t step_columns = 2;
constexpr std::size_t step_bytes = panel_rows * step_columns;

constexpr std::size_t group_rows = 8;  // of A
constexpr std::size_t pair_elements = 2 * group_rows;

// Functions of a header that several files include are static and always inlined: these files are
// compiled for AVX2, and no code of theirs may stand in for a baseline function of the same name.

[[gnu::always_inline]] static inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] static inline std::size_t panels_of(std::size_t m) {
    return (m + panel_rows - 1) / panel_rows;
}
[[gnu::always_inline]] static inline std::size_t steps_of(std::size_t n) {
    return (n + step_columns - 1) / step_columns;
}

[[gnu::always_inline]] static constexpr std::size_t groups_of(std::size_t m) {
    return (m + group_rows - 1) / group_rows;
}

/// 16 bytes, widened with their signs.
[[gnu::always_inline]] static inline __m256i widen(const std::int8_t* bytes) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}
[[gnu::always_inline]] static inline __m256i load(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
[[gnu::always_inline]] static inline void store(void* p, __m256i v) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), v);
}

/// A constant below 2^16 in 16 lanes.
[[gnu::always_inline]] static inline __m256i in_16_lanes(std::uint32_t value) {
    return _mm256_set1_epi16(static_cast<std::int16_t>(value));
}

/// Of x and x - p the one that did not wrap is the smaller unsigned one: x mod p for x < 2 p.
[[gnu::always_inline]] static inline __m256i canonical_16(__m256i x, __m256i prime) {
    return _mm256_min_epu16(x, _mm256_sub_epi16(x, prime));
}

/// reduce_short() of 16 numbers below 2^16.
[[gnu::always_inline]] static inline __m256i reduce_16(__m256i v, const Modulus& m) {
    const __m256i prime = in_16_lanes(m.prime);
    const __m256i quotient =
        _mm256_srli_epi16(_mm256_mulhi_epu16(v, in_16_lanes(m.short_reciprocal)), 7);
    return canonical_16(_mm256_sub_epi16(v, _mm256_mullo_epi16(quotient, prime)), prime);
}

/// sum + a[0] b[0] + a[1] b[1] in every 32-bit lane.
[[gnu::always_inline]] static inline __m256i add_products(__m256i sum, __m256i a, __m256i b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

}  // namespace slip::kernels::avx2
