// y = 2^t y_D + A z (LIN-2, DECO-7) for A of 16 bits: vpdpwssd multiplies pairs of columns of 16
// rows by pairs of limbs of z, and the sums of the limbs meet in 64 bits at the end.
//
// A is cut into groups of 16 rows and pairs of columns, [ceil(m/16)][ceil(k/2)][16][2], padded with
// zeros: a register is a pair of columns of a group.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"

namespace slip::kernels::avx512 {
namespace {

constexpr std::size_t group_rows = 16;
/// Groups whose sums are in registers together: enough to hide the time of one vpdpwssd.
constexpr std::size_t groups_together = 3;

constexpr std::size_t groups_of(std::size_t m) { return (m + group_rows - 1) / group_rows; }
constexpr std::size_t pair_elements = 2 * group_rows;

/// The sums of a group, a limb a register.
struct Sums {
    __m512i of[factor_limbs];
};

/// 8 rows of sum_l 2^(bits l) sum_l; `half` 0 or 1.
template <int Half>
[[gnu::always_inline]] inline __m512i recombine(const Sums& sums) {
    constexpr unsigned bits = factor_limb_bits;
    __m512i total = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (unsigned l = factor_limbs; l > 0; --l) {
        const __m512i sum = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sums.of[l - 1], Half));
        total = _mm512_add_epi64(_mm512_slli_epi64(total, bits), sum);
    }
    return total;
}

/// A z for Groups groups of 16 rows; `store(g, half, 8 rows)`.
template <std::size_t Groups, class Store>
[[gnu::always_inline]] inline void multiply(const std::int16_t* narrow, std::size_t k,
                                            const FactorLimbs& limbs_of_z, const Store& store) {
    const std::size_t group_elements = pairs_of(k) * pair_elements;
    Sums sums[Groups];
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
#pragma GCC unroll 8
        for (unsigned l = 0; l < factor_limbs; ++l) sums[g].of[l] = _mm512_setzero_si512();
    }
    for (std::size_t pair = 0; pair < pairs_of(k); ++pair) {
        __m512i a[Groups];
#pragma GCC unroll 8
        for (std::size_t g = 0; g < Groups; ++g) {
            a[g] = _mm512_loadu_si512(narrow + g * group_elements + pair * pair_elements);
        }
#pragma GCC unroll 8
        for (unsigned l = 0; l < factor_limbs; ++l) {
            std::int32_t two;
            __builtin_memcpy(&two, limbs_of_z.limb[pair][l], sizeof two);
            const __m512i limbs = _mm512_set1_epi32(two);
#pragma GCC unroll 8
            for (std::size_t g = 0; g < Groups; ++g) {
                sums[g].of[l] = _mm512_dpwssd_epi32(sums[g].of[l], a[g], limbs);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
        store(g * group_rows, recombine<0>(sums[g]));
        store(g * group_rows + 8, recombine<1>(sums[g]));
    }
}

template <class Load>
[[gnu::always_inline]] inline void combine(const std::int16_t* narrow, std::size_t m, std::size_t k,
                                           const std::int64_t* z, const Load& y_david,
                                           std::int64_t* y) {
    FactorLimbs limbs_of_z;
    split(z, k, limbs_of_z);
    const std::size_t group_elements = pairs_of(k) * pair_elements;
    std::size_t i = 0;
    const auto store = [&](std::size_t row, __m512i product) {
        if (i + row >= m) return;
        const __mmask8 lanes = first_8(m - i - row);
        const __m512i david = _mm512_slli_epi64(y_david(i + row, lanes), 20);
        _mm512_mask_storeu_epi64(y + i + row, lanes, _mm512_add_epi64(david, product));
    };
    constexpr std::size_t together = groups_together * group_rows;
    for (; i + together <= m; i += together, narrow += groups_together * group_elements) {
        multiply<groups_together>(narrow, k, limbs_of_z, store);
    }
    for (; i < m; i += group_rows, narrow += group_elements) {
        multiply<1>(narrow, k, limbs_of_z, store);
    }
    wipe(&limbs_of_z, pairs_of(k) * sizeof limbs_of_z.limb[0]);  // activations
}

}  // namespace

std::size_t factor_bytes(std::size_t m, std::size_t k) {
    return groups_of(m) * pairs_of(k) * pair_elements * sizeof(std::int16_t);
}

void pack_factor(const std::int32_t* a, std::size_t m, std::size_t k, std::int16_t* narrow) {
    if (k == 0) return;
    for (std::size_t i = 0; i < groups_of(m) * group_rows; ++i) {
        std::int16_t* const place =
            narrow + i / group_rows * pairs_of(k) * pair_elements + i % group_rows * 2;
        for (std::size_t c = 0; c < 2 * pairs_of(k); ++c) {
            place[c / 2 * pair_elements + c % 2] =
                i < m && c < k ? static_cast<std::int16_t>(a[i * k + c]) : std::int16_t{0};
        }
    }
}

void low_rank_outer_narrow_p31(const std::int16_t* narrow, std::size_t m, std::size_t k,
                               const std::int64_t* z, const std::int32_t* y_david,
                               std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_cvtepi32_epi64(_mm256_maskz_loadu_epi32(lanes, y_david + i));
    };
    combine(narrow, m, k, z, load, y);
}

void low_rank_outer_narrow_p61(const std::int16_t* narrow, std::size_t m, std::size_t k,
                               const std::int64_t* z, const std::int64_t* y_david,
                               std::int64_t* y) {
    const auto load = [&](std::size_t i, __mmask8 lanes) {
        return _mm512_maskz_loadu_epi64(lanes, y_david + i);
    };
    combine(narrow, m, k, z, load, y);
}

}  // namespace slip::kernels::avx512
