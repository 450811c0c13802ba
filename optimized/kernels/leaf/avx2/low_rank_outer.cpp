// y = 2^t y_D + A z (LIN-2, DECO-7): vpmaddwd multiplies pairs of columns of 8 rows by pairs of
// limbs of z, the sums of the limbs meet in 64 bits after a pass of columns, and the row's exponent
// shifts what they make.
//
// layout.hpp has the layout of A.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// Groups whose sums are in registers together.
constexpr std::size_t groups_together = 2;

/// The sums of a group, a limb a register.
template <unsigned Limbs>
struct Sums {
    __m256i of[Limbs];
};

/// 4 rows of 2^exponent sum_l 2^(bits l) sum_l; `Half` 0 or 1.
template <int Half, unsigned Limbs>
[[gnu::always_inline]] inline __m256i recombine(const Sums<Limbs>& sums,
                                                const std::uint8_t* exponents) {
    __m256i total = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (unsigned l = Limbs; l > 0; --l) {
        const __m256i sum = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sums.of[l - 1], Half));
        total = _mm256_add_epi64(_mm256_slli_epi64(total, factor_limb_bits), sum);
    }
    return _mm256_sllv_epi64(
        total, _mm256_cvtepu8_epi64(_mm_loadu_si32(exponents + std::size_t{4} * Half)));
}

/// y += the first 2 `pairs` columns of A times z for Groups groups of 8 rows, which lie
/// group_elements apart.
template <std::size_t Groups, unsigned Limbs>
[[gnu::always_inline]] inline void add_groups(const std::int16_t* a, const std::uint8_t* exponents,
                                              std::size_t group_elements,
                                              const FactorLimbs<Limbs>& limbs_of_z,
                                              std::size_t pairs, std::int64_t* y) {
    Sums<Limbs> sums[Groups];
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
#pragma GCC unroll 8
        for (unsigned l = 0; l < Limbs; ++l) sums[g].of[l] = _mm256_setzero_si256();
    }
#pragma GCC unroll 2
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        __m256i rows[Groups];
#pragma GCC unroll 8
        for (std::size_t g = 0; g < Groups; ++g) {
            rows[g] = load(a + g * group_elements + pair * pair_elements);
        }
#pragma GCC unroll 8
        for (unsigned l = 0; l < Limbs; ++l) {
            std::int32_t two;
            __builtin_memcpy(&two, limbs_of_z.limb[pair][l], sizeof two);
            const __m256i limbs = _mm256_set1_epi32(two);
#pragma GCC unroll 8
            for (std::size_t g = 0; g < Groups; ++g) {
                sums[g].of[l] = add_products(sums[g].of[l], rows[g], limbs);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
        const std::uint8_t* const of_group = exponents + g * group_rows;
        std::int64_t* const rows = y + g * group_rows;
        store(rows, _mm256_add_epi64(load(rows), recombine<0>(sums[g], of_group)));
        store(rows + 4, _mm256_add_epi64(load(rows + 4), recombine<1>(sums[g], of_group)));
    }
}

/// y += `pairs` pairs of columns of A, which begin at `a`, times z.
template <unsigned Limbs>
void add_pass(const std::int16_t* a, const std::uint8_t* exponents, std::size_t m,
              std::size_t group_elements, const FactorLimbs<Limbs>& limbs_of_z, std::size_t pairs,
              std::int64_t* y) {
    constexpr std::size_t together = groups_together * group_rows;
    std::size_t i = 0;
    for (; i + together <= m; i += together) {
        add_groups<groups_together>(a + i / group_rows * group_elements, exponents + i,
                                    group_elements, limbs_of_z, pairs, y + i);
    }
    for (; i < m; i += group_rows) {
        std::int64_t last[group_rows] = {};
        const std::size_t bytes = least(group_rows, m - i) * sizeof *y;
        __builtin_memcpy(last, y + i, bytes);
        add_groups<1>(a + i / group_rows * group_elements, exponents + i, group_elements,
                      limbs_of_z, pairs, last);
        __builtin_memcpy(y + i, last, bytes);
        base::wipe(last, sizeof last);  // activations
    }
}

/// In two's complement, as partial sums may wrap (DECO-7).
template <unsigned Limbs>
void outer_product(const std::uint8_t* left, std::size_t m, std::size_t k, const std::int64_t* z,
                   const std::int64_t* y_david, std::int64_t* y) {
    if (m == 0) return;  // then nothing is behind left, and it may be null
    for (std::size_t i = 0; i < m; ++i) {
        y[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(y_david[i])
                                         << base::parameters::residual_shift);
    }
    const std::size_t group_elements = pairs_of(k) * pair_elements;
    const auto* const a = reinterpret_cast<const std::int16_t*>(left);
    const std::uint8_t* const exponents = left + groups_of(m) * group_elements * sizeof *a;
    FactorLimbs<Limbs> limbs_of_z;
    for (std::size_t c = 0; c < k; c += factor_pass) {
        const std::size_t columns = least(factor_pass, k - c);
        split(z + c, columns, limbs_of_z);
        add_pass(a + c / 2 * pair_elements, exponents, m, group_elements, limbs_of_z,
                 pairs_of(columns), y);
    }
    base::wipe(&limbs_of_z, pairs_of(least(factor_pass, k)) * sizeof limbs_of_z.limb[0]);
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

}  // namespace slip::kernels::avx2
