// The micro-kernel under every product with packed weights: a panel of W meets the planes of X. And
// what is left of its sums.
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

/// 16 rows and 4 columns of a panel, or their sums, four times.
struct Rows {
    __m512i a, b, c, d;
};

/// A step's weights; as many are asked for, into the second-level cache, which makes the product of
/// one column faster than the first.
[[gnu::always_inline]] inline Rows weights(const std::int8_t* w, const std::int8_t* ahead) {
    constexpr int second_level = 2;  // as __builtin_prefetch names it
    for (std::size_t i = 0; i < step_bytes; i += 64) {
        __builtin_prefetch(ahead + i, 0, second_level);
    }
    return {_mm512_loadu_si512(w), _mm512_loadu_si512(w + 64), _mm512_loadu_si512(w + 128),
            _mm512_loadu_si512(w + 192)};
}

[[gnu::always_inline]] inline Rows load(const std::int32_t* sums) {
    return {_mm512_loadu_si512(sums), _mm512_loadu_si512(sums + 16), _mm512_loadu_si512(sums + 32),
            _mm512_loadu_si512(sums + 48)};
}

[[gnu::always_inline]] inline void store(std::int32_t* sums, const Rows& own) {
    _mm512_storeu_si512(sums, own.a);
    _mm512_storeu_si512(sums + 16, own.b);
    _mm512_storeu_si512(sums + 32, own.c);
    _mm512_storeu_si512(sums + 48, own.d);
}

/// sums[r] += sum_{d < 4} x[d] w[r][d], unsigned by signed, without saturation.
[[gnu::always_inline]] inline void add(Rows& sums, const std::uint8_t* x, const Rows& w) {
    const __m512i four = broadcast(x);
    sums.a = _mm512_dpbusd_epi32(sums.a, four, w.a);
    sums.b = _mm512_dpbusd_epi32(sums.b, four, w.b);
    sums.c = _mm512_dpbusd_epi32(sums.c, four, w.c);
    sums.d = _mm512_dpbusd_epi32(sums.d, four, w.d);
}

template <std::size_t planes>
struct Sums {
    Sums<planes - 1> of_others;
    Rows of_last;

    [[gnu::always_inline]] explicit Sums(const std::int32_t* sums)
        : of_others(sums), of_last(load(sums + (planes - 1) * panel_rows)) {}
    /// The products of a step's weights and the columns of the planes from `j` on.
    [[gnu::always_inline]] void add_step(const Rows& w, const std::uint8_t* const* x,
                                         std::size_t j) {
        of_others.add_step(w, x, j);
        add(of_last, x[planes - 1] + j, w);
    }
    [[gnu::always_inline]] void store_all(std::int32_t* sums) const {
        of_others.store_all(sums);
        store(sums + (planes - 1) * panel_rows, of_last);
    }
};

template <>
struct Sums<0> {
    explicit Sums(const std::int32_t* /*sums*/) {}
    void add_step(const Rows& /*w*/, const std::uint8_t* const* /*x*/, std::size_t /*j*/) {}
    void store_all(std::int32_t* /*sums*/) const {}
};

template <std::size_t planes>
[[gnu::always_inline]] inline void multiply(const std::int8_t* w, const std::uint8_t* const* x,
                                            std::size_t steps, std::int32_t* sums, Ahead ahead) {
    Sums<planes> all(sums);
    for (std::size_t j = 0; j < steps * step_columns; j += step_columns, w += step_bytes) {
        all.add_step(weights(w, ahead.at), x, j);
        ahead.at += ahead.stride;
    }
    all.store_all(sums);
}

/// 16 sums, |sum| <= largest_sum, modulo the prime. A multiple of it makes them non-negative, and
/// below 2^31: see Modulus::reciprocal.
__m512i reduce_16(__m512i sums, const Modulus& m) {
    const auto prime = static_cast<std::int32_t>(m.prime);
    const __m512i reciprocal = _mm512_set1_epi64(m.reciprocal);
    const __m512i v = _mm512_add_epi32(
        sums, _mm512_set1_epi32((static_cast<std::int32_t>(largest_sum) / prime + 1) * prime));
    const __m512i even = _mm512_srli_epi64(_mm512_mul_epu32(v, reciprocal), 39);
    const __m512i odd =
        _mm512_srli_epi64(_mm512_mul_epu32(_mm512_srli_epi64(v, 32), reciprocal), 39);
    const __m512i quotient = _mm512_or_si512(even, _mm512_slli_epi64(odd, 32));
    return _mm512_sub_epi32(v, _mm512_mullo_epi32(quotient, _mm512_set1_epi32(prime)));
}

}  // namespace

[[gnu::noinline]] void multiply_panel_by_1(const std::int8_t* w, const std::uint8_t* const* x,
                                           std::size_t steps, std::int32_t* sums, Ahead ahead) {
    multiply<1>(w, x, steps, sums, ahead);
}

[[gnu::noinline]] void multiply_panel_by_4(const std::int8_t* w, const std::uint8_t* const* x,
                                           std::size_t steps, std::int32_t* sums, Ahead ahead) {
    multiply<4>(w, x, steps, sums, ahead);
}

[[gnu::noinline]] void multiply_panel_by_5(const std::int8_t* w, const std::uint8_t* const* x,
                                           std::size_t steps, std::int32_t* sums, Ahead ahead) {
    multiply<5>(w, x, steps, sums, ahead);
}

[[gnu::noinline]] void finish(const std::int32_t* sums, std::size_t rows, bool first_block,
                              const Modulus& modulus, std::uint8_t* y) {
    const Modulus m = modulus;  // which no store to y changes
    for (std::size_t r = 0; r < rows; r += 16) {
        const __mmask16 lanes = first_16(rows - r);
        const __m128i before =
            first_block ? _mm_setzero_si128() : _mm_maskz_loadu_epi8(lanes, y + r);
        const __m512i total =
            _mm512_add_epi32(_mm512_loadu_si512(sums + r), _mm512_cvtepu8_epi32(before));
        _mm_mask_storeu_epi8(y + r, lanes, _mm512_cvtepi32_epi8(reduce_16(total, m)));
    }
}

}  // namespace slip::kernels::avx512
