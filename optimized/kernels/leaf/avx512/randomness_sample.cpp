// The sampler: the accepted words of a register are moved to its front.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

__m512i p31() { return _mm512_set1_epi32(P31::p); }

}  // namespace

// RAND-2. In place, the words not yet read stay as they are: what is written begins and ends before
// them. Only a rejected word, which is no secret, changes what is executed.
std::size_t sample_p31(const std::uint32_t* words, std::size_t count, std::uint32_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; i += 16) {
        const __mmask16 lanes = first_16(count - i);
        const __m512i v = _mm512_and_si512(_mm512_maskz_loadu_epi32(lanes, words + i), p31());
        const __mmask16 kept = _mm512_mask_cmpneq_epi32_mask(lanes, v, p31());
        const unsigned number = static_cast<unsigned>(__builtin_popcount(kept));
        const auto first = static_cast<__mmask16>((1u << number) - 1);
        _mm512_mask_storeu_epi32(out + accepted, first, _mm512_maskz_compress_epi32(kept, v));
        accepted += number;
    }
    return accepted;
}

}  // namespace slip::kernels::avx512
