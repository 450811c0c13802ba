// The micro-kernels under every product with packed weights: a panel of W meets the digits of one
// column of X. g++ 12 keeps an array of accumulators in memory, so each has a name.
#include "optimized/kernels/leaf/avx512/linear_panel.hpp"

#include "optimized/kernels/leaf/avx512/layout.hpp"

namespace slip::kernels::avx512 {
namespace {

/// One digit of four columns, in every lane.
[[gnu::always_inline]] inline __m512i broadcast(const std::uint8_t* digits) {
    std::int32_t four;
    __builtin_memcpy(&four, digits, sizeof four);
    return _mm512_set1_epi32(four);
}

constexpr int first_level = 3, second_level = 2;  // caches, as __builtin_prefetch names them

/// The weights of 16 rows and 4 columns; as many are asked for, into the cache that makes the
/// product of one column faster: the second level in P31, the first in P61, whose steps are half as
/// long.
template <int cache>
[[gnu::always_inline]] inline __m512i weights(const std::int8_t* w, const std::int8_t* ahead) {
    __builtin_prefetch(ahead, 0, cache);
    return _mm512_loadu_si512(w);
}

/// sum[r] += sum_{d < 4} digit[d] w[r][d], unsigned by signed, without saturation.
[[gnu::always_inline]] inline void add(__m512i& sum, __m512i digit, __m512i w) {
    sum = _mm512_dpbusd_epi32(sum, digit, w);
}

/// Of the weights of two steps, those of the first (layout.hpp).
[[gnu::always_inline]] inline __m512i low(__m512i two) {
    const __m512i biased = _mm512_and_si512(two, _mm512_set1_epi8(15));
    return _mm512_sub_epi8(biased, _mm512_set1_epi8(half_byte_bias));
}
/// Those of the second.
[[gnu::always_inline]] inline __m512i high(__m512i two) { return low(_mm512_srli_epi16(two, 4)); }

/// The sums of 64 rows, a letter for 16 of them, over 4 digits.
struct Sums31 {
    __m512i a0 = _mm512_setzero_si512(), b0 = _mm512_setzero_si512(), c0 = _mm512_setzero_si512(),
            d0 = _mm512_setzero_si512();
    __m512i a1 = _mm512_setzero_si512(), b1 = _mm512_setzero_si512(), c1 = _mm512_setzero_si512(),
            d1 = _mm512_setzero_si512();
    __m512i a2 = _mm512_setzero_si512(), b2 = _mm512_setzero_si512(), c2 = _mm512_setzero_si512(),
            d2 = _mm512_setzero_si512();
    __m512i a3 = _mm512_setzero_si512(), b3 = _mm512_setzero_si512(), c3 = _mm512_setzero_si512(),
            d3 = _mm512_setzero_si512();

    [[gnu::always_inline]] void add_step(const std::uint8_t* digits, __m512i a, __m512i b,
                                         __m512i c, __m512i d) {
        __m512i digit = broadcast(digits);
        add(a0, digit, a);
        add(b0, digit, b);
        add(c0, digit, c);
        add(d0, digit, d);
        digit = broadcast(digits + 4);
        add(a1, digit, a);
        add(b1, digit, b);
        add(c1, digit, c);
        add(d1, digit, d);
        digit = broadcast(digits + 8);
        add(a2, digit, a);
        add(b2, digit, b);
        add(c2, digit, c);
        add(d2, digit, d);
        digit = broadcast(digits + 12);
        add(a3, digit, a);
        add(b3, digit, b);
        add(c3, digit, c);
        add(d3, digit, d);
    }
    [[gnu::always_inline]] void store(std::int32_t* sums) const {
        _mm512_storeu_si512(sums, a0);
        _mm512_storeu_si512(sums + 16, b0);
        _mm512_storeu_si512(sums + 32, c0);
        _mm512_storeu_si512(sums + 48, d0);
        _mm512_storeu_si512(sums + 64, a1);
        _mm512_storeu_si512(sums + 80, b1);
        _mm512_storeu_si512(sums + 96, c1);
        _mm512_storeu_si512(sums + 112, d1);
        _mm512_storeu_si512(sums + 128, a2);
        _mm512_storeu_si512(sums + 144, b2);
        _mm512_storeu_si512(sums + 160, c2);
        _mm512_storeu_si512(sums + 176, d2);
        _mm512_storeu_si512(sums + 192, a3);
        _mm512_storeu_si512(sums + 208, b3);
        _mm512_storeu_si512(sums + 224, c3);
        _mm512_storeu_si512(sums + 240, d3);
    }
};

/// The sums of 32 rows, a letter for 16 of them, over 8 digits.
struct Sums61 {
    __m512i a0 = _mm512_setzero_si512(), b0 = _mm512_setzero_si512();
    __m512i a1 = _mm512_setzero_si512(), b1 = _mm512_setzero_si512();
    __m512i a2 = _mm512_setzero_si512(), b2 = _mm512_setzero_si512();
    __m512i a3 = _mm512_setzero_si512(), b3 = _mm512_setzero_si512();
    __m512i a4 = _mm512_setzero_si512(), b4 = _mm512_setzero_si512();
    __m512i a5 = _mm512_setzero_si512(), b5 = _mm512_setzero_si512();
    __m512i a6 = _mm512_setzero_si512(), b6 = _mm512_setzero_si512();
    __m512i a7 = _mm512_setzero_si512(), b7 = _mm512_setzero_si512();

    [[gnu::always_inline]] void add_step(const std::uint8_t* digits, __m512i a, __m512i b) {
        __m512i digit = broadcast(digits);
        add(a0, digit, a);
        add(b0, digit, b);
        digit = broadcast(digits + 4);
        add(a1, digit, a);
        add(b1, digit, b);
        digit = broadcast(digits + 8);
        add(a2, digit, a);
        add(b2, digit, b);
        digit = broadcast(digits + 12);
        add(a3, digit, a);
        add(b3, digit, b);
        digit = broadcast(digits + 16);
        add(a4, digit, a);
        add(b4, digit, b);
        digit = broadcast(digits + 20);
        add(a5, digit, a);
        add(b5, digit, b);
        digit = broadcast(digits + 24);
        add(a6, digit, a);
        add(b6, digit, b);
        digit = broadcast(digits + 28);
        add(a7, digit, a);
        add(b7, digit, b);
    }
    [[gnu::always_inline]] void store(std::int32_t* sums) const {
        _mm512_storeu_si512(sums, a0);
        _mm512_storeu_si512(sums + 16, b0);
        _mm512_storeu_si512(sums + 32, a1);
        _mm512_storeu_si512(sums + 48, b1);
        _mm512_storeu_si512(sums + 64, a2);
        _mm512_storeu_si512(sums + 80, b2);
        _mm512_storeu_si512(sums + 96, a3);
        _mm512_storeu_si512(sums + 112, b3);
        _mm512_storeu_si512(sums + 128, a4);
        _mm512_storeu_si512(sums + 144, b4);
        _mm512_storeu_si512(sums + 160, a5);
        _mm512_storeu_si512(sums + 176, b5);
        _mm512_storeu_si512(sums + 192, a6);
        _mm512_storeu_si512(sums + 208, b6);
        _mm512_storeu_si512(sums + 224, a7);
        _mm512_storeu_si512(sums + 240, b7);
    }
};

}  // namespace

[[gnu::noinline]] void multiply_panel_p31(const std::int8_t* w, const std::uint8_t* digits,
                                          std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums31 sum;
    for (; steps > 0; --steps, w += 256, digits += 16, ahead.at += ahead.stride) {
        const __m512i a = weights<second_level>(w, ahead.at);
        const __m512i b = weights<second_level>(w + 64, ahead.at + 64);
        const __m512i c = weights<second_level>(w + 128, ahead.at + 128);
        const __m512i d = weights<second_level>(w + 192, ahead.at + 192);
        sum.add_step(digits, a, b, c, d);
    }
    sum.store(sums);
}

[[gnu::noinline]] void multiply_panel4_p31(const std::int8_t* w, const std::uint8_t* digits,
                                           std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums31 sum;
    for (; steps > 0; --steps, w += 256, digits += 32, ahead.at += ahead.stride) {
        const __m512i a = weights<second_level>(w, ahead.at);
        const __m512i b = weights<second_level>(w + 64, ahead.at + 64);
        const __m512i c = weights<second_level>(w + 128, ahead.at + 128);
        const __m512i d = weights<second_level>(w + 192, ahead.at + 192);
        sum.add_step(digits, low(a), low(b), low(c), low(d));
        sum.add_step(digits + 16, high(a), high(b), high(c), high(d));
    }
    sum.store(sums);
}

[[gnu::noinline]] void multiply_panel_p61(const std::int8_t* w, const std::uint8_t* digits,
                                          std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums61 sum;
    for (; steps > 0; --steps, w += 128, digits += 32, ahead.at += ahead.stride) {
        const __m512i a = weights<first_level>(w, ahead.at);
        const __m512i b = weights<first_level>(w + 64, ahead.at + 64);
        sum.add_step(digits, a, b);
    }
    sum.store(sums);
}

[[gnu::noinline]] void multiply_panel4_p61(const std::int8_t* w, const std::uint8_t* digits,
                                           std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums61 sum;
    for (; steps > 0; --steps, w += 128, digits += 64, ahead.at += ahead.stride) {
        const __m512i a = weights<first_level>(w, ahead.at);
        const __m512i b = weights<first_level>(w + 64, ahead.at + 64);
        sum.add_step(digits, low(a), low(b));
        sum.add_step(digits + 32, high(a), high(b));
    }
    sum.store(sums);
}

}  // namespace slip::kernels::avx512
