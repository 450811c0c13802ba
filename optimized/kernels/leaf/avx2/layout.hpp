// What the kernels of this backend share: the packed layout.
//
// W is cut into panels of 16 rows and steps of 2 columns, [ceil(m/16)][ceil(n/2)][16][2], padded
// with zeros. Widened to 16 bits, 8 rows of a step are a register whose 32-bit lanes are rows, each
// with the 2 weights that vpmaddwd multiplies by 2 limbs (../limbs.hpp) and sums, exactly.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace slip::kernels::avx2 {

constexpr std::size_t panel_rows = 16;
constexpr std::size_t step_columns = 2;
constexpr std::size_t step_bytes = panel_rows * step_columns;

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

/// sum + a[0] b[0] + a[1] b[1] in every 32-bit lane.
[[gnu::always_inline]] static inline __m256i add_products(__m256i sum, __m256i a, __m256i b) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
}

}  // namespace slip::kernels::avx2
