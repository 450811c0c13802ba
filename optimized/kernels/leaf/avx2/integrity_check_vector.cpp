// s = rho^T W mod p (INTEG-2) from packed weights. Half a step holds 8 rows of 2 columns; with its
// middle bytes exchanged in every 4, two rows of one column lie side by side, which vpmaddwd
// multiplies by a limb of 2 elements of rho.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// Steps whose sums lie on the stack at a time: 128 columns.
constexpr std::size_t block_steps = 64;

/// Sums over rows, [step][limb][4 pairs of rows][2 columns]; `total` of those that 32 bits do not
/// hold, [column][limb].
template <class P>
struct Sums {
    alignas(32) std::int32_t partial[block_steps][Limbs<P>::count][8];
    std::int64_t total[block_steps * step_columns][Limbs<P>::count];
};

/// Limb l of 8 elements of rho, of which there are `count`: [4 pairs][2 columns][2 elements].
template <class P>
struct RhoLimbs {
    alignas(32) std::int16_t limb[Limbs<P>::count][16];
};

template <class P>
RhoLimbs<P> limbs_of(const typename P::Residue* rho, std::size_t count) {
    RhoLimbs<P> limbs;
    for (std::size_t i = 0; i < 8; ++i) {
        const Limbs<P> element = split<P>(i < count ? rho[i] : 0);
        for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
            limbs.limb[l][i / 2 * 4 + i % 2] = element.limb[l];
            limbs.limb[l][i / 2 * 4 + i % 2 + 2] = element.limb[l];
        }
    }
    return limbs;
}

/// Adds the products of 8 rows of W, half a step wide, in `steps` steps.
template <class P>
void add_rows(const std::int8_t* w, std::size_t steps, const RhoLimbs<P>& rho, Sums<P>& sums) {
    const __m128i pairs = _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    for (std::size_t step = 0; step < steps; ++step, w += step_bytes) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w));
        const __m256i weights = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(bytes, pairs));
        for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
            std::int32_t* const sum = sums.partial[step][l];
            store(sum, add_products(load(sum), weights, load(rho.limb[l])));
        }
    }
}

/// total += partial, partial = 0.
template <class P>
void flush(Sums<P>& sums) {
    for (std::size_t j = 0; j < block_steps * step_columns; ++j) {
        for (std::size_t l = 0; l < Limbs<P>::count; ++l) {
            const std::int32_t* const pairs = sums.partial[j / 2][l] + j % 2;
            sums.total[j][l] += std::int64_t{pairs[0]} + pairs[2] + pairs[4] + pairs[6];
        }
    }
    __builtin_memset(sums.partial, 0, sizeof sums.partial);
}

template <class P>
void check_vector(const std::int8_t* packed, std::size_t m, std::size_t n,
                  const typename P::Residue* rho, typename P::Residue* s) {
    Sums<P> sums;
    for (std::size_t first = 0; first < steps_of(n); first += block_steps) {
        const std::size_t steps = least(block_steps, steps_of(n) - first);
        __builtin_memset(&sums, 0, sizeof sums);
        for (std::size_t i = 0; i < m; i += 8) {
            if (i % limb_pass == 0) flush(sums);
            const std::size_t step = i / panel_rows * steps_of(n) + first;
            add_rows<P>(packed + step * step_bytes + i % panel_rows * step_columns, steps,
                        limbs_of<P>(rho + i, m - i), sums);
        }
        flush(sums);
        for (std::size_t j = 0; j < least(steps * step_columns, n - first * step_columns); ++j) {
            s[first * step_columns + j] = recombine(sums.total[j], 0);
        }
    }
    base::wipe(&sums, sizeof sums);
}

}  // namespace

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s) {
    check_vector<P31>(raw(packed), m, n, rho, s);
}

}  // namespace slip::kernels::avx2
