// y = 2^t y_D + A z (LIN-2, DECO-7) for A of 16 bits: vpmaddwd multiplies pairs of columns of 8
// rows by pairs of limbs of z, and the sums of the limbs meet in 64 bits at the end.
//
// A is cut into groups of 8 rows and pairs of columns, [ceil(m/8)][ceil(k/2)][8][2], padded with
// zeros: a register is a pair of columns of a group.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/avx2.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"

namespace slip::kernels::avx2 {
namespace {

constexpr std::size_t group_rows = 8;
/// Groups whose sums are in registers together.
constexpr std::size_t groups_together = 2;

constexpr std::size_t groups_of(std::size_t m) { return (m + group_rows - 1) / group_rows; }
constexpr std::size_t pair_elements = 2 * group_rows;

/// The sums of a group, a limb a register.
template <unsigned Limbs>
struct Sums {
    __m256i of[Limbs];
};

/// 4 rows of sum_l 2^(bits l) sum_l; `Half` 0 or 1.
template <int Half, unsigned Limbs>
[[gnu::always_inline]] inline __m256i recombine(const Sums<Limbs>& sums) {
    __m256i total = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (unsigned l = Limbs; l > 0; --l) {
        const __m256i sum = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sums.of[l - 1], Half));
        total = _mm256_add_epi64(_mm256_slli_epi64(total, factor_limb_bits), sum);
    }
    return total;
}

/// products = A z for Groups groups of 8 rows.
template <std::size_t Groups, unsigned Limbs>
[[gnu::always_inline]] inline void multiply(const std::int16_t* narrow, std::size_t k,
                                            const FactorLimbs<Limbs>& limbs_of_z,
                                            std::int64_t* products) {
    const std::size_t group_elements = pairs_of(k) * pair_elements;
    Sums<Limbs> sums[Groups];
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
#pragma GCC unroll 8
        for (unsigned l = 0; l < Limbs; ++l) sums[g].of[l] = _mm256_setzero_si256();
    }
    for (std::size_t pair = 0; pair < pairs_of(k); ++pair) {
        __m256i a[Groups];
#pragma GCC unroll 8
        for (std::size_t g = 0; g < Groups; ++g) {
            a[g] = load(narrow + g * group_elements + pair * pair_elements);
        }
#pragma GCC unroll 8
        for (unsigned l = 0; l < Limbs; ++l) {
            std::int32_t two;
            __builtin_memcpy(&two, limbs_of_z.limb[pair][l], sizeof two);
            const __m256i limbs = _mm256_set1_epi32(two);
#pragma GCC unroll 8
            for (std::size_t g = 0; g < Groups; ++g) {
                sums[g].of[l] = add_products(sums[g].of[l], a[g], limbs);
            }
        }
    }
#pragma GCC unroll 8
    for (std::size_t g = 0; g < Groups; ++g) {
        store(products + g * group_rows, recombine<0>(sums[g]));
        store(products + g * group_rows + 4, recombine<1>(sums[g]));
    }
}

/// In two's complement, as partial sums may wrap (DECO-7).
template <unsigned Limbs, class Product>
void combine(const std::int16_t* narrow, std::size_t m, std::size_t k, const std::int64_t* z,
             const Product* y_david, std::int64_t* y) {
    FactorLimbs<Limbs> limbs_of_z;
    split(z, k, limbs_of_z);
    constexpr std::size_t together = groups_together * group_rows;
    alignas(32) std::int64_t products[together];
    for (std::size_t i = 0; i < m; i += together) {
        const std::int16_t* const group = narrow + i * 2 * pairs_of(k);
        if (m - i > group_rows) {
            multiply<groups_together>(group, k, limbs_of_z, products);
        } else {
            multiply<1>(group, k, limbs_of_z, products);
        }
        for (std::size_t r = 0; r < least(together, m - i); ++r) {
            const auto david = static_cast<std::uint64_t>(std::int64_t{y_david[i + r]}) << 20;
            y[i + r] = static_cast<std::int64_t>(david + static_cast<std::uint64_t>(products[r]));
        }
    }
    wipe(&limbs_of_z, pairs_of(k) * sizeof limbs_of_z.limb[0]);  // activations
    wipe(products, sizeof products);
}

}  // namespace

std::size_t left_bytes(std::size_t m, std::size_t k) {
    return groups_of(m) * pairs_of(k) * pair_elements * sizeof(std::int16_t);
}

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, std::int16_t* narrow) {
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
                               unsigned limbs, const std::int64_t* z, const std::int32_t* y_david,
                               std::int64_t* y) {
    if (limbs == 3) {
        combine<3>(narrow, m, k, z, y_david, y);
    } else {
        combine<4>(narrow, m, k, z, y_david, y);
    }
}

void low_rank_outer_narrow_p61(const std::int16_t* narrow, std::size_t m, std::size_t k,
                               unsigned limbs, const std::int64_t* z, const std::int64_t* y_david,
                               std::int64_t* y) {
    if (limbs == 3) {
        combine<3>(narrow, m, k, z, y_david, y);
    } else {
        combine<4>(narrow, m, k, z, y_david, y);
    }
}

}  // namespace slip::kernels::avx2
