// The inner product of the integrity check (INTEG-3).
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::avx2 {
namespace {

/// The products of the even and of the odd residues of 8, two a lane: below 2 (p - 1)^2 < 2^63.
[[gnu::always_inline]] inline __m256i products(__m256i a, __m256i b) {
    return _mm256_add_epi64(_mm256_mul_epu32(a, b),
                            _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)));
}

}  // namespace

// Four products fill 64 bits (RING-1: 4 (p - 1)^2 < 2^64), which are folded to less than 2^34. A
// sum of 2^33 / 16 = 2^29 of those stays below 2^63.
std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
    const __m256i p = _mm256_set1_epi64x(P31::p);
    __m256i total = _mm256_setzero_si256();
    std::size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256i x = _mm256_add_epi64(products(load(a + i), load(b + i)),
                                           products(load(a + i + 8), load(b + i + 8)));
        total = _mm256_add_epi64(
            total, _mm256_add_epi64(_mm256_and_si256(x, p), _mm256_srli_epi64(x, 31)));
    }
    std::uint64_t lanes[4];
    store(lanes, total);
    std::uint64_t sum = 0;  // of residues: fewer than 2^5
    for (const std::uint64_t lane : lanes) sum += reduce_p31(lane);
    for (; i < n; ++i) sum += reduce_p31(std::uint64_t{a[i]} * b[i]);
    return reduce_p31(sum);
}

}  // namespace slip::kernels::avx2
