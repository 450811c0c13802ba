// The inner product of the integrity check (INTEG-3).
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::avx512 {
namespace {

/// The products of the even and of the odd residues of 16, two a lane: below 2 (p - 1)^2 < 2^63.
[[gnu::always_inline]] inline __m512i products(__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_mul_epu32(a, b),
                            _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32)));
}

/// (x AND p) + (x >> 31), below 2^31 + 2^33.
[[gnu::always_inline]] inline __m512i fold(__m512i x) {
    return _mm512_add_epi64(_mm512_and_si512(x, _mm512_set1_epi64(P31::p)),
                            _mm512_srli_epi64(x, 31));
}

}  // namespace

// Four products fill 64 bits (RING-1: 4 (p - 1)^2 < 2^64), which are folded to less than 2^34. A
// sum of 2^33 / 32 = 2^28 of those stays below 2^62.
std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
    __m512i total = _mm512_setzero_si512();
    std::size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        const __m512i first = products(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
        const __m512i second =
            products(_mm512_loadu_si512(a + i + 16), _mm512_loadu_si512(b + i + 16));
        total = _mm512_add_epi64(total, fold(_mm512_add_epi64(first, second)));
    }
    for (; i < n; i += 16) {
        const __mmask16 lanes = first_16(n - i);
        total = _mm512_add_epi64(total, fold(products(_mm512_maskz_loadu_epi32(lanes, a + i),
                                                      _mm512_maskz_loadu_epi32(lanes, b + i))));
    }
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, total);
    std::uint64_t sum = 0;  // of residues: 8 p < 2^34
    for (const std::uint64_t lane : lanes) sum += reduce_p31(lane);
    return reduce_p31(sum);
}

}  // namespace slip::kernels::avx512
