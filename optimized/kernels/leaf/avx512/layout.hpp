// What the kernels of this backend share: the packed layout and digits of residues.
//
// W is cut into panels of 64 rows and steps of 4 columns, [ceil(m/64)][ceil(n/4)][64][4], padded
// with zeros. A step of a panel is 4 registers whose 32-bit lanes are rows, each with the 4 weights
// that vpdpbusd multiplies by 4 unsigned bytes and sums.
//
// A plane of residues is as it is, so rows times planes is 256 and 16 registers hold the sums of a
// panel and four planes.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels::avx512 {

constexpr std::size_t panel_rows = 64;
constexpr std::size_t step_columns = 4;
constexpr std::size_t step_bytes = panel_rows * step_columns;

/// Columns whose products 31 bits hold, with a residue added: 127 * 250 * 32,768 + 250 < 2^30.
constexpr std::size_t pass_columns = 32768;
constexpr std::int64_t largest_sum =
    base::parameters::largest_weight * std::int64_t{250} * std::int64_t{pass_columns} + 250;
static_assert(largest_sum < std::int64_t{1} << 30);

// Functions of a header that several files include are static and always inlined: these files are
// compiled for AVX-512, and no code of theirs may stand in for a baseline function of the same
// name.

[[gnu::always_inline]] static inline std::size_t least(std::size_t a, std::size_t b) {
    return a < b ? a : b;
}

[[gnu::always_inline]] static inline std::size_t steps_of(std::size_t n) {
    return (n + step_columns - 1) / step_columns;
}

[[gnu::always_inline]] static constexpr std::size_t panels_of(std::size_t m) {
    return (m + panel_rows - 1) / panel_rows;
}

/// The first `count` lanes of 8 bits, all of them if count >= 64.
[[gnu::always_inline]] static inline __mmask64 first_64(std::size_t count) {
    return count >= 64 ? ~__mmask64{0} : (__mmask64{1} << count) - 1;
}
/// The first `count` lanes of 16 bits, all of them if count >= 32.
[[gnu::always_inline]] static inline __mmask32 first_32(std::size_t count) {
    return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}
/// The first `count` lanes of 32 bits, all of them if count >= 16.
[[gnu::always_inline]] static inline __mmask16 first_16(std::size_t count) {
    return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1);
}
/// The first `count` lanes of 64 bits, all of them if count >= 8.
[[gnu::always_inline]] static inline __mmask8 first_8(std::size_t count) {
    return count >= 8 ? __mmask8{0xff} : static_cast<__mmask8>((1u << count) - 1);
}

/// body(i, lanes) for every 16 of n elements, i the first of them. Whole registers have a mask that
/// the compiler sees, so their loads and stores are plain ones.
template <class Body>
[[gnu::always_inline]] static inline void for_each_16(std::size_t n, const Body& body) {
    std::size_t i = 0;
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
    for (; i + 16 <= n; i += 16) body(i, __mmask16{0xffff});
    if (i < n) body(i, first_16(n - i));
}
template <class Body>
[[gnu::always_inline]] static inline void for_each_8(std::size_t n, const Body& body) {
    std::size_t i = 0;
#if defined(__clang__)
#pragma clang loop unroll(disable)
#endif
    for (; i + 8 <= n; i += 8) body(i, __mmask8{0xff});
    if (i < n) body(i, first_8(n - i));
}

/// RAND-2 on the given lanes of a register: their accepted bytes, in order. Returns their number.
[[gnu::always_inline]] static inline std::size_t sample_64(__m512i bytes, __mmask64 lanes,
                                                           std::uint8_t prime, std::uint8_t* out) {
    const __mmask64 kept =
        _mm512_mask_cmplt_epu8_mask(lanes, bytes, _mm512_set1_epi8(static_cast<char>(prime)));
    const auto number = static_cast<std::size_t>(__builtin_popcountll(kept));
    _mm512_mask_storeu_epi8(out, first_64(number), _mm512_maskz_compress_epi8(kept, bytes));
    return number;
}

/// 8 numbers of 32 bits.
[[gnu::always_inline]] static inline __m256i load_8(const std::int32_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

/// sums += the products of pairs of 16-bit elements.
[[gnu::always_inline]] static inline void add_pairs(__m512i& sums, __m512i a, __m512i b) {
    sums = _mm512_dpwssd_epi32(sums, a, b);
}

/// a0 + a1, b0 + b1, a2 + a3, b2 + b3, ...
[[gnu::always_inline]] static inline __m512i pair_sums(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
}

/// The sums of the 128-bit lanes 0, 1 and 2, 3 of a, then of b.
[[gnu::always_inline]] static inline __m512i lane_pair_sums(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
}

}  // namespace slip::kernels::avx512
