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

/// The first 2 `pairs` columns of A times z for Groups groups of 8 rows, which lie group_elements
/// apart.
template <std::size_t Groups, unsigned Limbs>
[[gnu::always_inline]] inline void multiply(const std::int16_t* a, std::size_t group_elements,
                                            const FactorLimbs<Limbs>& limbs_of_z, std::size_t pairs,
                                            Sums<Limbs> (&sums)[Groups]) {
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
}

// Functions of their own, of which proofs/asm proves what they do. In two's complement, as partial
// sums may wrap (DECO-7).

/// split() of the columns of a pass.
template <unsigned Limbs>
[[gnu::noinline]] void split_pass(const std::int64_t* z, std::size_t columns,
                                  FactorLimbs<Limbs>& limbs) {
    split(z, columns, limbs);
}

/// y = 2^t y_david.
[[gnu::noinline]] void begin(const std::int64_t* y_david, std::size_t m, std::int64_t* y) {
    for (std::size_t i = 0; i < m; ++i) {
        y[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(y_david[i])
                                         << base::parameters::residual_shift);
    }
}

/// y += the products of two groups.
template <unsigned Limbs>
[[gnu::noinline]] void add_groups(const std::int16_t* a, const std::uint8_t* exponents,
                                  std::size_t group_elements, const FactorLimbs<Limbs>& limbs,
                                  std::size_t pairs, std::int64_t* y) {
    Sums<Limbs> sums[groups_together];
    multiply(a, group_elements, limbs, pairs, sums);
#pragma GCC unroll 8
    for (std::size_t g = 0; g < groups_together; ++g) {
        const std::uint8_t* const of_group = exponents + g * group_rows;
        std::int64_t* const rows = y + g * group_rows;
        store(rows, _mm256_add_epi64(load(rows), recombine<0>(sums[g], of_group)));
        store(rows + 4, _mm256_add_epi64(load(rows + 4), recombine<1>(sums[g], of_group)));
    }
}

/// The products of one group.
template <unsigned Limbs>
[[gnu::noinline]] void multiply_group(const std::int16_t* a, const std::uint8_t* exponents,
                                      const FactorLimbs<Limbs>& limbs, std::size_t pairs,
                                      std::int64_t* products) {
    Sums<Limbs> sums[1];
    multiply(a, 0, limbs, pairs, sums);
    store(products, recombine<0>(sums[0], exponents));
    store(products + 4, recombine<1>(sums[0], exponents));
}

/// y += the products of some rows, at most a group.
[[gnu::noinline]] void add_rows(const std::int64_t* products, std::size_t rows, std::int64_t* y) {
    for (std::size_t r = 0; r < rows; ++r) {
        y[r] = static_cast<std::int64_t>(static_cast<std::uint64_t>(y[r]) +
                                         static_cast<std::uint64_t>(products[r]));
    }
}

/// What all passes of columns have in common.
struct Outer {
    const std::uint8_t* exponents;
    std::size_t m, group_elements;
    std::int64_t* y;
};

/// y += the columns of a pass times z: of all groups, the first of which begins at `a`.
template <unsigned Limbs>
[[gnu::noinline]] void add_pass(const Outer& outer, const std::int16_t* a,
                                const FactorLimbs<Limbs>& limbs, std::size_t pairs) {
    constexpr std::size_t together = groups_together * group_rows;
    std::size_t i = 0;
    for (; i + together <= outer.m; i += together, a += groups_together * outer.group_elements) {
        add_groups(a, outer.exponents + i, outer.group_elements, limbs, pairs, outer.y + i);
    }
    if (i == outer.m) return;
    std::int64_t products[group_rows];
    for (; i < outer.m; i += group_rows, a += outer.group_elements) {
        multiply_group(a, outer.exponents + i, limbs, pairs, products);
        add_rows(products, least(group_rows, outer.m - i), outer.y + i);
    }
    base::wipe(products, sizeof products);  // activations
}

template <unsigned Limbs>
void outer_product(const std::uint8_t* left, std::size_t m, std::size_t k, const std::int64_t* z,
                   const std::int64_t* y_david, std::int64_t* y) {
    if (m == 0) return;  // then nothing is behind left, and it may be null
    begin(y_david, m, y);
    const auto* a = reinterpret_cast<const std::int16_t*>(left);
    const std::size_t pairs = pairs_of(k);
    const Outer outer{left + groups_of(m) * pairs * (pair_elements * sizeof *a), m,
                      pairs * pair_elements, y};
    FactorLimbs<Limbs> limbs;
    for (std::size_t c = 0; c < k; c += factor_pass, a += factor_pass / 2 * pair_elements) {
        const std::size_t columns = least(factor_pass, k - c);
        split_pass(z + c, columns, limbs);
        add_pass(outer, a, limbs, pairs_of(columns));
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

}  // namespace slip::kernels::avx2
