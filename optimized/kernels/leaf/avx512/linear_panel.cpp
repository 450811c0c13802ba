// The micro-kernel under every product with packed weights: a panel of W meets the digits of one
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

/// The weights of 16 rows and 4 columns; as many are asked for, into the second-level cache, which
/// makes the product of one column faster than the first.
[[gnu::always_inline]] inline __m512i weights(const std::int8_t* w, const std::int8_t* ahead) {
    constexpr int second_level = 2;  // as __builtin_prefetch names it
    __builtin_prefetch(ahead, 0, second_level);
    return _mm512_loadu_si512(w);
}

/// sum[r] += sum_{d < 4} digit[d] w[r][d], unsigned by signed, without saturation.
[[gnu::always_inline]] inline void add(__m512i& sum, __m512i digit, __m512i w) {
    sum = _mm512_dpbusd_epi32(sum, digit, w);
}

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

}  // namespace

[[gnu::noinline]] void multiply_panel_p31(const std::int8_t* w, const std::uint8_t* digits,
                                          std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums31 sum;
    for (; steps > 0; --steps, w += 256, digits += 16, ahead.at += ahead.stride) {
        const __m512i a = weights(w, ahead.at);
        const __m512i b = weights(w + 64, ahead.at + 64);
        const __m512i c = weights(w + 128, ahead.at + 128);
        const __m512i d = weights(w + 192, ahead.at + 192);
        sum.add_step(digits, a, b, c, d);
    }
    sum.store(sums);
}

}  // namespace slip::kernels::avx512
