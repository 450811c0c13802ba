// Masking and unmasking, without a branch on any residue.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// A constant below 2^16 in 32 lanes.
__m512i in_16_bits(std::uint32_t value) {
    return _mm512_set1_epi16(static_cast<std::int16_t>(value));
}

/// Of x and x - p the one that did not wrap is the smaller unsigned one: x mod p for x < 2 p.
__m512i canonical_32(__m512i x, __m512i prime) {
    return _mm512_min_epu16(x, _mm512_sub_epi16(x, prime));
}

/// reduce_short() of 32 numbers below 2^16, but for the last subtraction: at most p + 1.
__m512i reduce_32(__m512i v, const Modulus& m) {
    const __m512i quotient =
        _mm512_srli_epi16(_mm512_mulhi_epu16(v, in_16_bits(m.short_reciprocal)), 7);
    return _mm512_sub_epi16(v, _mm512_mullo_epi16(quotient, in_16_bits(m.prime)));
}

/// (y - c) inverse mod p of 8 residues.
__m512i factors(const std::uint8_t* y, const std::uint8_t* c, __mmask8 lanes, std::uint32_t inverse,
                const Modulus& m) {
    const __m512i prime = _mm512_set1_epi64(m.prime);
    const __m512i difference =
        _mm512_sub_epi64(_mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(lanes, y)),
                         _mm512_cvtepu8_epi64(_mm_maskz_loadu_epi8(lanes, c)));
    const __m512i residue = _mm512_min_epu64(difference, _mm512_add_epi64(difference, prime));
    const __m512i v = _mm512_mul_epu32(residue, _mm512_set1_epi64(inverse));
    const __m512i quotient =
        _mm512_srli_epi64(_mm512_mul_epu32(v, _mm512_set1_epi64(m.reciprocal)), 39);
    return _mm512_sub_epi64(v, _mm512_mul_epu32(quotient, prime));
}

}  // namespace

bool below(const std::uint8_t* bytes, std::size_t n, std::uint8_t prime) {
    const __m512i least_above = _mm512_set1_epi8(static_cast<char>(prime));
    __mmask64 above = 0;
    for (std::size_t j = 0; j < n; j += 64) {
        const __mmask64 lanes = first_64(n - j);
        above |= _mm512_mask_cmpge_epu8_mask(lanes, _mm512_maskz_loadu_epi8(lanes, bytes + j),
                                             least_above);
    }
    return above == 0;
}

// MASK-1. q + 2^15 is not negative; with the mask and -2^15 mod p its residue is at most 3 p.
void mask(const std::int16_t* q, const std::uint8_t* mask, std::size_t n, std::size_t planes,
          std::uint8_t* masked) {
    for (std::size_t p = 0; p < planes; ++p, mask += n, masked += n) {
        const Modulus& m = moduli[p];
        const __m512i prime = in_16_bits(m.prime);
        const __m512i offset = in_16_bits(m.prime - 32768 % m.prime);
        for (std::size_t j = 0; j < n; j += 32) {
            const __mmask32 lanes = first_32(n - j);
            const __m512i shifted =
                _mm512_xor_si512(_mm512_maskz_loadu_epi16(lanes, q + j), in_16_bits(32768));
            const __m512i random = _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(lanes, mask + j));
            const __m512i sum = _mm512_add_epi16(
                _mm512_add_epi16(canonical_32(reduce_32(shifted, m), prime), offset), random);
            const __m512i residues = canonical_32(canonical_32(sum, prime), prime);
            _mm256_mask_storeu_epi8(masked + j, lanes, _mm512_cvtepi16_epi8(residues));
        }
    }
}

// MASK-4.
void unmask(const std::uint8_t* y, const std::uint8_t* cancellation, std::size_t m,
            std::size_t planes, std::int64_t* out) {
    const Recombination& recombination = recombinations[planes];
    const __m512i modulus = _mm512_set1_epi64(recombination.modulus);
    const __m512i half = _mm512_set1_epi64((recombination.modulus - 1) / 2);
    for_each_8(m, [&](std::size_t i, __mmask8 lanes) {
        __m512i sum = _mm512_setzero_si512();
        for (std::size_t p = 0; p < planes; ++p) {
            const __m512i of_plane = factors(y + p * m + i, cancellation + p * m + i, lanes,
                                             recombination.inverse[p], moduli[p]);
            sum = _mm512_add_epi64(
                sum, _mm512_mullo_epi64(of_plane, _mm512_set1_epi64(recombination.weight[p])));
        }
        for (std::size_t p = 0; p < planes; ++p) {  // centre()
            const __mmask8 above = _mm512_cmpgt_epi64_mask(sum, half);
            sum = _mm512_mask_sub_epi64(sum, above, sum, modulus);
        }
        _mm512_mask_storeu_epi64(out + i, lanes, sum);
    });
}

}  // namespace slip::kernels::avx512
