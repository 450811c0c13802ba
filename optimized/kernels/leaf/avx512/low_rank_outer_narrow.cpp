// y = 2^t y_D + A z (LIN-2, DECO-7) for A of 16 bits: vpdpwssd multiplies pairs of columns of 16
// rows by pairs of limbs of z, and the sums of the limbs meet in 64 bits at the end.
//
// A is cut into panels of 64 rows and pairs of columns, [ceil(m/64)][ceil(k/2)][64][2], padded with
// zeros: four registers are a pair of columns of a panel.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"

namespace slip::kernels::avx512 {
namespace {

constexpr std::size_t panel_rows = 64, pair_elements = 2 * panel_rows;

constexpr std::size_t panels_of(std::size_t m) { return (m + panel_rows - 1) / panel_rows; }

/// The same limb of a pair of columns, in every lane.
[[gnu::always_inline]] inline __m512i broadcast(const std::int16_t* limbs) {
    std::int32_t two;
    __builtin_memcpy(&two, limbs, sizeof two);
    return _mm512_set1_epi32(two);
}

/// sums[limb][row] of a panel and all pairs of columns.
template <unsigned Limbs>
[[gnu::noinline]] void multiply_panel(const std::int16_t* narrow, const std::int16_t* limbs,
                                      std::size_t pairs, std::int32_t* sums) {
    __m512i a0 = _mm512_setzero_si512(), a1 = _mm512_setzero_si512(), a2 = _mm512_setzero_si512(),
            a3 = _mm512_setzero_si512(), b0 = _mm512_setzero_si512(), b1 = _mm512_setzero_si512(),
            b2 = _mm512_setzero_si512(), b3 = _mm512_setzero_si512(), c0 = _mm512_setzero_si512(),
            c1 = _mm512_setzero_si512(), c2 = _mm512_setzero_si512(), c3 = _mm512_setzero_si512(),
            d0 = _mm512_setzero_si512(), d1 = _mm512_setzero_si512(), d2 = _mm512_setzero_si512(),
            d3 = _mm512_setzero_si512();
    for (; pairs > 0; --pairs, narrow += pair_elements, limbs += 2 * Limbs) {
        const __m512i limb_0 = broadcast(limbs), limb_1 = broadcast(limbs + 2),
                      limb_2 = broadcast(limbs + 4);
        const __m512i limb_3 = Limbs == 4 ? broadcast(limbs + 6) : _mm512_setzero_si512();
        __m512i rows;
        rows = _mm512_loadu_si512(narrow);
        add_pairs(a0, rows, limb_0);
        add_pairs(a1, rows, limb_1);
        add_pairs(a2, rows, limb_2);
        if constexpr (Limbs == 4) add_pairs(a3, rows, limb_3);
        rows = _mm512_loadu_si512(narrow + 32);
        add_pairs(b0, rows, limb_0);
        add_pairs(b1, rows, limb_1);
        add_pairs(b2, rows, limb_2);
        if constexpr (Limbs == 4) add_pairs(b3, rows, limb_3);
        rows = _mm512_loadu_si512(narrow + 64);
        add_pairs(c0, rows, limb_0);
        add_pairs(c1, rows, limb_1);
        add_pairs(c2, rows, limb_2);
        if constexpr (Limbs == 4) add_pairs(c3, rows, limb_3);
        rows = _mm512_loadu_si512(narrow + 96);
        add_pairs(d0, rows, limb_0);
        add_pairs(d1, rows, limb_1);
        add_pairs(d2, rows, limb_2);
        if constexpr (Limbs == 4) add_pairs(d3, rows, limb_3);
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

/// 8 rows of sum_l 2^(bits l) sums[l].
template <unsigned Limbs>
[[gnu::always_inline]] inline __m512i recombine(const std::int32_t* sums) {
    __m512i total = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (unsigned l = Limbs; l > 0; --l) {
        const __m512i sum = _mm512_cvtepi32_epi64(load_8(sums + (l - 1) * panel_rows));
        total = _mm512_add_epi64(_mm512_slli_epi64(total, factor_limb_bits), sum);
    }
    return total;
}

/// `load_david(i, lanes)`: 8 rows of y_D. In two's complement, as partial sums may wrap.
template <unsigned Limbs, class Load>
[[gnu::always_inline]] inline void combine(const std::int16_t* narrow, std::size_t m, std::size_t k,
                                           const std::int64_t* z, const Load& load_david,
                                           std::int64_t* y) {
    FactorLimbs<Limbs> limbs_of_z;
    split(z, k, limbs_of_z);
    alignas(64) std::int32_t sums[Limbs * panel_rows];
    for (std::size_t first = 0; first < m; first += panel_rows) {
        multiply_panel<Limbs>(narrow + first * 2 * pairs_of(k), limbs_of_z.limb[0][0], pairs_of(k),
                              sums);
        for (std::size_t i = first; i < least(m, first + panel_rows); i += 8) {
            const __mmask8 lanes = first_8(m - i);
            const __m512i david = _mm512_slli_epi64(load_david(i, lanes), 20);
            _mm512_mask_storeu_epi64(y + i, lanes,
                                     _mm512_add_epi64(david, recombine<Limbs>(sums + i - first)));
        }
    }
    wipe(&limbs_of_z, pairs_of(k) * sizeof limbs_of_z.limb[0]);  // activations
    wipe(sums, sizeof sums);
}

}  // namespace

std::size_t left_bytes(std::size_t m, std::size_t k) {
    return panels_of(m) * pairs_of(k) * pair_elements * sizeof(std::int16_t);
}

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, std::int16_t* narrow) {
    for (std::size_t i = 0; i < panels_of(m) * panel_rows; ++i) {
        std::int16_t* const place =
            narrow + i / panel_rows * pairs_of(k) * pair_elements + i % panel_rows * 2;
        for (std::size_t c = 0; c < 2 * pairs_of(k); ++c) {
            place[c / 2 * pair_elements + c % 2] =
                i < m && c < k ? static_cast<std::int16_t>(a[i * k + c]) : std::int16_t{0};
        }
    }
}

void low_rank_outer_narrow_p31(const std::int16_t* narrow, std::size_t m, std::size_t k,
                               unsigned limbs, const std::int64_t* z, const std::int32_t* y_david,
                               std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes, y_david + i));
    };
    if (limbs == 3) {
        combine<3>(narrow, m, k, z, load, y);
    } else {
        combine<4>(narrow, m, k, z, load, y);
    }
}

void low_rank_outer_narrow_p61(const std::int16_t* narrow, std::size_t m, std::size_t k,
                               unsigned limbs, const std::int64_t* z, const std::int64_t* y_david,
                               std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_maskz_loadu_epi64(lanes, y_david + i);
    };
    if (limbs == 3) {
        combine<3>(narrow, m, k, z, load, y);
    } else {
        combine<4>(narrow, m, k, z, load, y);
    }
}

}  // namespace slip::kernels::avx512
