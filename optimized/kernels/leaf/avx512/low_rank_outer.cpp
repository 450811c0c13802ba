// y = 2^t y_D + A z (LIN-2, DECO-7): vpdpwssd multiplies pairs of columns of 16 rows by pairs of
// limbs of z, and the sums of the limbs meet in 64 bits at the end of a pass.
// twelve_bits.hpp has the layout of A.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/twelve_bits.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// The same limb of a pair of columns, in every lane.
[[gnu::always_inline]] inline __m512i broadcast(const std::int16_t* limbs) {
    std::int32_t two;
    __builtin_memcpy(&two, limbs, sizeof two);
    return _mm512_set1_epi32(two);
}

// Functions of their own, of which proofs/asm proves what they do.

/// split() of the columns of a pass.
template <unsigned Limbs>
[[gnu::noinline]] void split_pass(const std::int64_t* z, std::size_t columns,
                                  FactorLimbs<Limbs>& limbs) {
    split(z, columns, limbs);
}

/// sums[limb][row] of a panel and the pairs of columns of a pass.
template <unsigned Limbs>
[[gnu::noinline]] void multiply_panel(const std::uint8_t* left, const std::int16_t* limbs,
                                      std::size_t pairs, std::int32_t* sums) {
    __m512i a0 = _mm512_setzero_si512(), a1 = _mm512_setzero_si512(), a2 = _mm512_setzero_si512(),
            a3 = _mm512_setzero_si512(), b0 = _mm512_setzero_si512(), b1 = _mm512_setzero_si512(),
            b2 = _mm512_setzero_si512(), b3 = _mm512_setzero_si512(), c0 = _mm512_setzero_si512(),
            c1 = _mm512_setzero_si512(), c2 = _mm512_setzero_si512(), c3 = _mm512_setzero_si512(),
            d0 = _mm512_setzero_si512(), d1 = _mm512_setzero_si512(), d2 = _mm512_setzero_si512(),
            d3 = _mm512_setzero_si512();
    for (; pairs > 0; --pairs, left += four_bytes, limbs += std::size_t{2} * Limbs) {
        const __m512i limb_0 = broadcast(limbs), limb_1 = broadcast(limbs + 2),
                      limb_2 = broadcast(limbs + 4);
        const __m512i limb_3 = Limbs == 4 ? broadcast(limbs + 6) : _mm512_setzero_si512();
        const Four rows = unpack_four(left);
        add_pairs(a0, rows.a, limb_0);
        add_pairs(a1, rows.a, limb_1);
        add_pairs(a2, rows.a, limb_2);
        if constexpr (Limbs == 4) add_pairs(a3, rows.a, limb_3);
        add_pairs(b0, rows.b, limb_0);
        add_pairs(b1, rows.b, limb_1);
        add_pairs(b2, rows.b, limb_2);
        if constexpr (Limbs == 4) add_pairs(b3, rows.b, limb_3);
        add_pairs(c0, rows.c, limb_0);
        add_pairs(c1, rows.c, limb_1);
        add_pairs(c2, rows.c, limb_2);
        if constexpr (Limbs == 4) add_pairs(c3, rows.c, limb_3);
        add_pairs(d0, rows.d, limb_0);
        add_pairs(d1, rows.d, limb_1);
        add_pairs(d2, rows.d, limb_2);
        if constexpr (Limbs == 4) add_pairs(d3, rows.d, limb_3);
    }
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
    if constexpr (Limbs == 4) {
        _mm512_storeu_si512(sums + 192, a3);
        _mm512_storeu_si512(sums + 208, b3);
        _mm512_storeu_si512(sums + 224, c3);
        _mm512_storeu_si512(sums + 240, d3);
    }
}

/// 8 rows of 2^exponent sum_l 2^(bits l) sums[l], mod 2^64.
template <unsigned Limbs>
[[gnu::always_inline]] inline __m512i recombine(const std::int32_t* sums,
                                                const std::uint8_t* exponents) {
    __m512i total = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (unsigned l = Limbs; l > 0; --l) {
        const __m512i sum = _mm512_cvtepi32_epi64(load_8(sums + (l - 1) * panel_rows));
        total = _mm512_add_epi64(_mm512_slli_epi64(total, factor_limb_bits), sum);
    }
    return _mm512_sllv_epi64(total, _mm512_cvtepu8_epi64(_mm_loadu_si64(exponents)));
}

/// y + the sums of a panel's rows, in two's complement, as partial sums may wrap. Of the first
/// pass, 2^16 y_david is before them, and else y.
template <unsigned Limbs>
[[gnu::noinline]] void add_rows(const std::int32_t* sums, const std::uint8_t* exponents,
                                std::size_t rows, bool is_first, const std::int64_t* before,
                                std::int64_t* y) {
    for_each_8(rows, [&](std::size_t i, __mmask8 lanes) {
        __m512i own = _mm512_maskz_loadu_epi64(lanes, before + i);
        if (is_first) own = _mm512_slli_epi64(own, base::parameters::residual_shift);
        const __m512i product = recombine<Limbs>(sums + i, exponents + i);
        _mm512_mask_storeu_epi64(y + i, lanes, _mm512_add_epi64(own, product));
    });
}

/// What all passes of columns have in common.
struct Outer {
    const std::uint8_t* exponents;
    std::size_t m;
    const std::int64_t* y_david;
    std::int64_t* y;
};

/// The columns of a pass, from `column` on, times z: of all panels, which begin at `left`.
template <unsigned Limbs>
[[gnu::noinline]] void add_pass(const Outer& outer, const std::uint8_t* left,
                                const FactorLimbs<Limbs>& limbs, std::size_t pairs,
                                std::size_t column) {
    alignas(64) std::int32_t sums[Limbs * panel_rows];
    const bool is_first = column == 0;
    const std::int64_t* const before = is_first ? outer.y_david : outer.y;
    for (std::size_t first = 0; first < outer.m; first += panel_rows, left += pairs * four_bytes) {
        multiply_panel<Limbs>(left, limbs.limb[0][0], pairs, sums);
        add_rows<Limbs>(sums, outer.exponents + first, least(outer.m - first, panel_rows), is_first,
                        before + first, outer.y + first);
    }
    base::wipe(sums, sizeof sums);  // activations
}

template <unsigned Limbs>
[[gnu::always_inline]] inline void outer_product(const std::uint8_t* left, std::size_t m,
                                                 std::size_t k, const std::int64_t* z,
                                                 const std::int64_t* y_david, std::int64_t* y) {
    const Outer outer{left + exponents_at(m, k), m, y_david, y};
    FactorLimbs<Limbs> limbs;
    for (std::size_t column = 0; column == 0 || column < k; column += factor_pass) {
        const std::size_t width = least(k - column, factor_pass);
        split_pass(z + column, width, limbs);
        add_pass(outer, left, limbs, pairs_of(width), column);
        left += panels_of(m) * (factor_pass / 2) * four_bytes;
    }
    base::wipe(&limbs, sizeof limbs);  // activations
}

}  // namespace

void low_rank_outer(const PackedLeft* left, std::size_t m, std::size_t k, unsigned limbs,
                    const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y) {
    if (limbs == 3) {
        outer_product<3>(raw(left), m, k, z, y_david, y);
    } else {
        outer_product<4>(raw(left), m, k, z, y_david, y);
    }
}

}  // namespace slip::kernels::avx512
