// Masks and unmasking. Without a branch; what is left after the last whole register is the portable
// kernel's.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

__m256i p31() { return _mm256_set1_epi32(P31::p); }

/// Of x and y the one that did not wrap is the smaller unsigned one.
__m256i canonical_p31(__m256i x, __m256i y) { return _mm256_min_epu32(x, y); }

}  // namespace

// MASK-1. embed(q) = q + (p if q < 0), RING-2; the sum of two residues is at most 2 p - 2.
void mask_p31(const std::int16_t* q, const std::uint32_t* mask, std::size_t n,
              std::uint32_t* masked) {
    std::size_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const __m256i value =
            _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q + j)));
        const __m256i embedded = canonical_p31(value, _mm256_add_epi32(value, p31()));
        const __m256i sum = _mm256_add_epi32(embedded, load(mask + j));
        store(masked + j, canonical_p31(sum, _mm256_sub_epi32(sum, p31())));
    }
    portable::mask_p31(q + j, mask + j, n - j, masked + j);
}

// MASK-4. y - c lies in 1 - p .. p - 1; the residue r is lifted to r - p if r > (p - 1) / 2.
void unmask_p31(const std::uint32_t* y, const std::uint32_t* cancellation, std::size_t m,
                std::int32_t* out) {
    std::size_t i = 0;
    for (; i + 8 <= m; i += 8) {
        const __m256i difference = _mm256_sub_epi32(load(y + i), load(cancellation + i));
        const __m256i r = canonical_p31(difference, _mm256_add_epi32(difference, p31()));
        const __m256i upper = _mm256_cmpgt_epi32(r, _mm256_set1_epi32((P31::p - 1) / 2));
        store(out + i, _mm256_sub_epi32(r, _mm256_and_si256(upper, p31())));
    }
    portable::unmask_p31(y + i, cancellation + i, m - i, out + i);
}

}  // namespace slip::kernels::avx2
