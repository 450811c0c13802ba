// The micro-kernel under every product with packed weights: a panel of W meets four planes of X.
// g++ 12 keeps an array of accumulators in memory, so each has a name.
#include "optimized/kernels/leaf/avx512/linear_panel.hpp"

#include "optimized/kernels/leaf/avx512/layout.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Four bytes, in every lane.
[[gnu::always_inline]] inline __m512i broadcast(const std::uint8_t* x) {
    std::int32_t four;
    __builtin_memcpy(&four, x, sizeof four);
    return _mm512_set1_epi32(four);
}

/// The weights of 16 rows and 4 columns; as many are asked for, into the second-level cache, which
/// makes the product of one column faster than the first.
[[gnu::always_inline]] inline __m512i weights(const std::int8_t* w, const std::int8_t* ahead) {
    constexpr int second_level = 2;  // as __builtin_prefetch names it
    __builtin_prefetch(ahead, 0, second_level);
    return _mm512_loadu_si512(w);
}

/// sum[r] += sum_{d < 4} x[d] w[r][d], unsigned by signed, without saturation.
[[gnu::always_inline]] inline void add(__m512i& sum, __m512i x, __m512i w) {
    sum = _mm512_dpbusd_epi32(sum, x, w);
}

/// The sums of 64 rows, a letter for 16 of them, over 4 planes.
struct Sums {
    __m512i a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3;

    [[gnu::always_inline]] explicit Sums(const std::int32_t* sums)
        : a0(_mm512_loadu_si512(sums)),
          b0(_mm512_loadu_si512(sums + 16)),
          c0(_mm512_loadu_si512(sums + 32)),
          d0(_mm512_loadu_si512(sums + 48)),
          a1(_mm512_loadu_si512(sums + 64)),
          b1(_mm512_loadu_si512(sums + 80)),
          c1(_mm512_loadu_si512(sums + 96)),
          d1(_mm512_loadu_si512(sums + 112)),
          a2(_mm512_loadu_si512(sums + 128)),
          b2(_mm512_loadu_si512(sums + 144)),
          c2(_mm512_loadu_si512(sums + 160)),
          d2(_mm512_loadu_si512(sums + 176)),
          a3(_mm512_loadu_si512(sums + 192)),
          b3(_mm512_loadu_si512(sums + 208)),
          c3(_mm512_loadu_si512(sums + 224)),
          d3(_mm512_loadu_si512(sums + 240)) {}

    /// Adds the products of a step, whose columns of the planes are x0 to x3.
    [[gnu::always_inline]] void add_step(__m512i x0, __m512i x1, __m512i x2, __m512i x3,
                                         const std::int8_t* w, const std::int8_t* ahead) {
        const __m512i a = weights(w, ahead), b = weights(w + 64, ahead + 64);
        const __m512i c = weights(w + 128, ahead + 128), d = weights(w + 192, ahead + 192);
        add(a0, x0, a);
        add(b0, x0, b);
        add(c0, x0, c);
        add(d0, x0, d);
        add(a1, x1, a);
        add(b1, x1, b);
        add(c1, x1, c);
        add(d1, x1, d);
        add(a2, x2, a);
        add(b2, x2, b);
        add(c2, x2, c);
        add(d2, x2, d);
        add(a3, x3, a);
        add(b3, x3, b);
        add(c3, x3, c);
        add(d3, x3, d);
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

[[gnu::noinline]] void multiply_panel(const std::int8_t* w, Planes x, std::size_t steps,
                                      std::int32_t* sums, Ahead ahead) {
    Sums sum(sums);
    for (; steps > 0; --steps, w += 256, ahead.at += ahead.stride) {
        sum.add_step(broadcast(x.a), broadcast(x.b), broadcast(x.c), broadcast(x.d), w, ahead.at);
        x = {x.a + 4, x.b + 4, x.c + 4, x.d + 4};
    }
    sum.store(sums);
}

}  // namespace slip::kernels::avx512
