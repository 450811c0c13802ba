// Masking and unmasking. A residue is reduced without a branch or a comparison of signed
// numbers: of x and x - p (or x + p) the one that did not wrap is the smaller unsigned one.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

__m512i p31() { return _mm512_set1_epi32(P31::p); }

}  // namespace

// MASK-1. embed(q) = q + (p if q < 0), RING-2; the sum of two residues is at most 2 p - 2.
void mask_p31(const std::int16_t* q, const std::uint32_t* mask, std::size_t n,
              std::uint32_t* masked) {
    for_each_16(n, [&](std::size_t j, __mmask16 lanes) {
        const __m512i value = _mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(lanes, q + j));
        const __m512i embedded = _mm512_min_epu32(value, _mm512_add_epi32(value, p31()));
        const __m512i sum = _mm512_add_epi32(embedded, _mm512_maskz_loadu_epi32(lanes, mask + j));
        _mm512_mask_storeu_epi32(masked + j, lanes,
                                 _mm512_min_epu32(sum, _mm512_sub_epi32(sum, p31())));
    });
}

// MASK-4. y - c lies in 1 - p .. p - 1; the residue r is lifted to r - p if r > (p - 1) / 2.
void unmask_p31(const std::uint32_t* y, const std::uint32_t* cancellation, std::size_t m,
                std::int32_t* out) {
    for_each_16(m, [&](std::size_t i, __mmask16 lanes) {
        const __m512i difference =
            _mm512_sub_epi32(_mm512_maskz_loadu_epi32(lanes, y + i),
                             _mm512_maskz_loadu_epi32(lanes, cancellation + i));
        const __m512i r = _mm512_min_epu32(difference, _mm512_add_epi32(difference, p31()));
        const __mmask16 upper = _mm512_cmpgt_epi32_mask(r, _mm512_set1_epi32((P31::p - 1) / 2));
        _mm512_mask_storeu_epi32(out + i, lanes, _mm512_mask_sub_epi32(r, upper, r, p31()));
    });
}

}  // namespace slip::kernels::avx512
