// Scores of one or two queries at four positions at a time, in registers of 256 bits: the leaves of
// AVX2 and AVX-512 compile it for their own instructions (see floats.hpp).
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "optimized/kernels/leaf/floats.hpp"

namespace slip::kernels::floats {

/// Four positions' keys; behind the last position, the last key once more.
template <class Leaf>
struct FourKeys {
    const float* key[4];
    std::size_t first;  // position
    std::size_t count;  // of positions, 1 to 4

    FourKeys(const float* keys, std::size_t stride, std::size_t first_position,
             std::size_t positions)
        : first(first_position),
          count(positions - first_position < 4 ? positions - first_position : 4) {
        for (std::size_t p = 0; p < 4; ++p) {
            key[p] = keys + (first + (p < count ? p : count - 1)) * stride;
        }
    }

    /// How often eight elements of the keys of four positions are multiplied by a group of rows.
    static std::size_t steps(std::size_t positions, std::size_t d) {
        return (positions + 3) / 4 * (d / 8);
    }

    /// Of a row's products with the keys, those that are wanted.
    void store(__m128 products, float* out) const {
        if (count == 4) return _mm_storeu_ps(out + first, products);
        float lanes[4];
        _mm_storeu_ps(lanes, products);
        for (std::size_t p = 0; p < count; ++p) out[first + p] = lanes[p];
    }

    /// out[r][first + p] = dot(q[r], key p, d) * scale, for one or two rows.
    template <std::size_t rows>
    void multiply(const float* const* q, std::size_t d, float scale, float* const* out,
                  Ahead& ahead) const {
        __m256 sums[rows][4] = {};
        std::size_t j = 0;
        for (; j + 8 <= d; j += 8) {
            ahead.step();
            for (std::size_t r = 0; r < rows; ++r) {
                const __m256 row = _mm256_loadu_ps(q[r] + j);
                for (std::size_t p = 0; p < 4; ++p) {
                    const __m256 product = _mm256_mul_ps(row, _mm256_loadu_ps(key[p] + j));
                    sums[r][p] = _mm256_add_ps(sums[r][p], product);
                }
            }
        }
        if (j < d) add_rest(sums, q, j, d - j);
        const __m256 products = totals(sums[0], sums[rows - 1], scale);
        store(_mm256_castps256_ps128(products), out[0]);
        if constexpr (rows == 2) store(_mm256_extractf128_ps(products, 1), out[1]);
    }

private:
    /// The last elements, fewer than eight, from j on.
    template <std::size_t rows>
    void add_rest(__m256 (&sums)[rows][4], const float* const* q, std::size_t j,
                  std::size_t rest) const {
        const __m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(rest)),
                                                 _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        for (std::size_t r = 0; r < rows; ++r) {
            const __m256 row = _mm256_maskload_ps(q[r] + j, lanes);
            for (std::size_t p = 0; p < 4; ++p) {
                const __m256 product = _mm256_mul_ps(row, _mm256_maskload_ps(key[p] + j, lanes));
                sums[r][p] = _mm256_add_ps(sums[r][p], product);
            }
        }
    }

    /// The ordered sums of two rows' lanes, times `scale`: four positions each.
    static __m256 totals(const __m256* low, const __m256* high, float scale) {
        __m256 halves[4];  // lane r of 128 bits: row r's four halves
        for (std::size_t p = 0; p < 4; ++p) {
            halves[p] = _mm256_add_ps(_mm256_permute2f128_ps(low[p], high[p], 0x20),
                                      _mm256_permute2f128_ps(low[p], high[p], 0x31));
        }
        const __m256 low01 = _mm256_unpacklo_ps(halves[0], halves[1]);
        const __m256 low23 = _mm256_unpacklo_ps(halves[2], halves[3]);
        const __m256 high01 = _mm256_unpackhi_ps(halves[0], halves[1]);
        const __m256 high23 = _mm256_unpackhi_ps(halves[2], halves[3]);
        const __m256 first_two = _mm256_add_ps(_mm256_shuffle_ps(low01, low23, 0x44),
                                               _mm256_shuffle_ps(low01, low23, 0xee));
        const __m256 first_three =
            _mm256_add_ps(first_two, _mm256_shuffle_ps(high01, high23, 0x44));
        const __m256 total = _mm256_add_ps(first_three, _mm256_shuffle_ps(high01, high23, 0xee));
        return _mm256_mul_ps(total, _mm256_set1_ps(scale));
    }
};

}  // namespace slip::kernels::floats
