// Scores of one or two queries at four positions at a time, in registers of 256 bits: the leaves of
// AVX2 and AVX-512 compile it for their own instructions (see floats.hpp).
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "optimized/kernels/leaf/floats.hpp"

namespace slip::kernels::floats {

/// The keys of `count` positions, 1 to 4, the first of which is `position`; `stride` elements lie
/// between where two begin.
struct FourKeys {
    const float* first;
    std::size_t stride, count, d, position;
    float scale;
};

/// Where four positions' keys begin; behind the last position, the last key once more.
struct KeysOfFour {
    const float* at[4];

    [[gnu::always_inline]] KeysOfFour(const FourKeys& four, std::size_t count) : at{four.first} {
#pragma GCC unroll 4
        for (std::size_t p = 1; p < 4; ++p) at[p] = at[p - 1] + (p < count ? four.stride : 0);
    }
};

/// Whether there are four keys of whole registers: what is usual has code of its own, without
/// calls.
[[gnu::always_inline]] inline bool are_whole(const FourKeys& four) {
    return four.count == 4 && four.d % 8 == 0;
}

/// How often eight elements of the keys of four positions are multiplied by a group of rows.
[[gnu::always_inline]] inline std::size_t steps_of_four_keys(std::size_t positions, std::size_t d) {
    return (positions + 3) / 4 * (d / 8);
}

/// Of a row's products with the keys, those that are wanted.
[[gnu::always_inline]] inline void store(__m128 products, std::size_t count, float* out) {
    if (count == 4) return _mm_storeu_ps(out, products);
    float lanes[4];
    _mm_storeu_ps(lanes, products);
    for (std::size_t p = 0; p < count; ++p) out[p] = lanes[p];
}

/// The last elements, fewer than eight, and zeros.
template <std::size_t count>
[[gnu::always_inline]] inline __m256 load_first(const float* from) {
    float all[8] = {};
    __builtin_memcpy(all, from, count * sizeof(float));
    return _mm256_loadu_ps(all);
}

/// sums[r][p] += the products of row r with key p.
template <std::size_t rows>
[[gnu::always_inline]] inline void add_products(__m256 (&sums)[rows][4], const __m256 (&row)[rows],
                                                const __m256 (&key)[4]) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < 4; ++p) {
            sums[r][p] = _mm256_add_ps(sums[r][p], _mm256_mul_ps(row[r], key[p]));
        }
    }
}

/// The ordered sums of two rows' lanes, times `scale`: four positions each.
[[gnu::always_inline]] inline __m256 totals(const __m256* low, const __m256* high, float scale) {
    __m256 halves[4];  // lane r of 128 bits: row r's four halves
#pragma GCC unroll 4
    for (std::size_t p = 0; p < 4; ++p) {
        halves[p] = _mm256_add_ps(_mm256_permute2f128_ps(low[p], high[p], 0x20),
                                  _mm256_permute2f128_ps(low[p], high[p], 0x31));
    }
    const __m256 low01 = _mm256_unpacklo_ps(halves[0], halves[1]);
    const __m256 low23 = _mm256_unpacklo_ps(halves[2], halves[3]);
    const __m256 high01 = _mm256_unpackhi_ps(halves[0], halves[1]);
    const __m256 high23 = _mm256_unpackhi_ps(halves[2], halves[3]);
    const __m256 first_two =
        _mm256_add_ps(_mm256_shuffle_ps(low01, low23, 0x44), _mm256_shuffle_ps(low01, low23, 0xee));
    const __m256 first_three = _mm256_add_ps(first_two, _mm256_shuffle_ps(high01, high23, 0x44));
    const __m256 total = _mm256_add_ps(first_three, _mm256_shuffle_ps(high01, high23, 0xee));
    return _mm256_mul_ps(total, _mm256_set1_ps(scale));
}

/// Calls add(load_from) for the last elements, `rest` of them, 1 to 7, from `first` on: load_from()
/// gives them and zeros.
template <std::size_t count = 1, class Add>
[[gnu::always_inline]] inline void add_rest(std::size_t first, std::size_t rest, const Add& add) {
    if (rest == count) {
        add([&](const float* from) { return load_first<count>(from + first); });
    } else if constexpr (count < 7) {
        add_rest<count + 1>(first, rest, add);
    }
}

/// What multiply_keys() does; `count` is 4 and `rest` 0 where the keys are whole.
template <class Leaf, std::size_t rows>
[[gnu::always_inline]] inline void multiply_by_keys(const FourKeys& four, std::size_t count,
                                                    std::size_t rest, const float* const* q,
                                                    float* const* out, Ahead& ahead) {
    const KeysOfFour keys(four, count);
    Ahead own = ahead;  // in registers
    __m256 sums[rows][4] = {};
    const auto add = [&](const auto& load_from) {
        __m256 row[rows], key[4];
#pragma GCC unroll 4
        for (std::size_t r = 0; r < rows; ++r) row[r] = load_from(q[r]);
#pragma GCC unroll 4
        for (std::size_t p = 0; p < 4; ++p) key[p] = load_from(keys.at[p]);
        add_products<rows>(sums, row, key);
    };
    const std::size_t whole = four.d - rest, position = four.position;
    for (std::size_t j = 0; j < whole; j += 8) {
        own.step();
        add([&](const float* from) { return _mm256_loadu_ps(from + j); });
    }
    if (rest > 0) add_rest(whole, rest, add);
    const __m256 products = totals(sums[0], sums[rows - 1], four.scale);
    ahead.go_on(own);
    store(_mm256_castps256_ps128(products), count, out[0] + position);
    if constexpr (rows == 2) {
        store(_mm256_extractf128_ps(products, 1), count, out[1] + position);
    }
}

template <class Leaf, std::size_t rows>
[[gnu::noinline, gnu::used]] void multiply_some_keys(const FourKeys& four, const float* const* q,
                                                     float* const* out, Ahead& ahead) {
    multiply_by_keys<Leaf, rows>(four, four.count, four.d % 8, q, out, ahead);
}

/// out[r][position + p] = dot(q[r], key p, d) * scale, for one or two rows: a function of its own
/// that is proved by itself.
template <class Leaf, std::size_t rows>
[[gnu::noinline, gnu::used]] void multiply_keys(const FourKeys& four, const float* const* q,
                                                float* const* out, Ahead& ahead) {
    if (!are_whole(four)) return multiply_some_keys<Leaf, rows>(four, q, out, ahead);
    multiply_by_keys<Leaf, rows>(four, 4, 0, q, out, ahead);
}

/// Calls score_rows(keys) for four positions at a time.
template <class ScoreRows>
[[gnu::always_inline]] inline void for_each_four_keys(const float* keys, std::size_t stride,
                                                      std::size_t positions, std::size_t d,
                                                      float scale, const ScoreRows& score_rows) {
    FourKeys four{keys, stride, 4, d, 0, scale};
    for (std::size_t p = 0; p < positions; p += 4) {
        const std::size_t left = positions - p;
        four.count = left < 4 ? left : 4;
        four.position = p;
        four.first = keys + p * stride;
        score_rows(four);
    }
}

}  // namespace slip::kernels::floats
