// Masking and unmasking, without a branch on any residue.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

/// 16 bytes, widened.
[[gnu::always_inline]] inline __m256i load_16(const std::uint8_t* bytes) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
}

/// 16 elements below 2^8, narrowed.
[[gnu::always_inline]] inline __m128i narrow(__m256i elements) {
    return _mm_packus_epi16(_mm256_castsi256_si128(elements),
                            _mm256_extracti128_si256(elements, 1));
}

/// sums += 4 elements, from `byte` on, times a weight below 2^48.
template <int byte>
[[gnu::always_inline]] inline __m256i add_weighted(__m256i sums, __m128i bytes,
                                                   std::int64_t weight) {
    const __m256i elements = _mm256_cvtepu8_epi64(_mm_srli_si128(bytes, byte));
    sums = _mm256_add_epi64(sums, _mm256_mul_epu32(elements, _mm256_set1_epi64x(weight)));
    if (weight >> 32 == 0) return sums;  // of up to five planes
    const __m256i high = _mm256_mul_epu32(elements, _mm256_set1_epi64x(weight >> 32));
    return _mm256_add_epi64(sums, _mm256_slli_epi64(high, 32));
}

/// centre() of 4 sums.
[[gnu::always_inline]] inline __m256i centre_4(__m256i sums, std::size_t planes) {
    const std::int64_t modulus = recombinations[planes].modulus;
    const __m256i whole = _mm256_set1_epi64x(modulus);
    const __m256i half = _mm256_set1_epi64x((modulus - 1) / 2);
    for (std::size_t i = 0; i < planes; ++i) {
        sums = _mm256_sub_epi64(sums, _mm256_and_si256(_mm256_cmpgt_epi64(sums, half), whole));
    }
    return sums;
}

/// (y - c) inverse mod p of 16 residues.
[[gnu::always_inline]] inline __m128i factors(const std::uint8_t* y, const std::uint8_t* c,
                                              std::uint32_t inverse, const Modulus& m) {
    const __m256i difference = _mm256_sub_epi16(load_16(y), load_16(c));
    // Of d and d + p the one that did not wrap is the smaller unsigned one.
    const __m256i residue =
        _mm256_min_epu16(difference, _mm256_add_epi16(difference, in_16_lanes(m.prime)));
    return narrow(reduce_16(_mm256_mullo_epi16(residue, in_16_lanes(inverse)), m));
}

}  // namespace

bool below(const std::uint8_t* bytes, std::size_t n, std::uint8_t prime) {
    __m256i largest = _mm256_setzero_si256();
    std::size_t j = 0;
    for (; j + 32 <= n; j += 32) largest = _mm256_max_epu8(largest, load(bytes + j));
    std::uint8_t lanes[32];
    store(lanes, largest);
    const unsigned are_lanes_below = portable::below(lanes, sizeof lanes, prime) ? 1 : 0;
    const unsigned is_rest_below = portable::below(bytes + j, n - j, prime) ? 1 : 0;
    return (are_lanes_below & is_rest_below) != 0;
}

// MASK-1. q + 2^15 is not negative; with the mask and -2^15 mod p its residue is below 3 p.
void mask(const std::int16_t* q, const std::uint8_t* mask, std::size_t n, std::size_t planes,
          std::uint8_t* masked) {
    if (n < 16) return portable::mask(q, mask, n, planes, masked);
    for (std::size_t p = 0; p < planes; ++p, mask += n, masked += n) {
        const Modulus& m = moduli[p];
        const __m256i prime = in_16_lanes(m.prime);
        const __m256i offset = in_16_lanes(m.prime - 32768 % m.prime);
        for (std::size_t j = 0; j < n; j += 16) {
            const std::size_t at = least(j, n - 16);  // the last may overlap those before
            const __m256i shifted = _mm256_xor_si256(load(q + at), in_16_lanes(32768));
            const __m256i sum = _mm256_add_epi16(_mm256_add_epi16(reduce_16(shifted, m), offset),
                                                 load_16(mask + at));
            const __m256i residues = canonical_16(canonical_16(sum, prime), prime);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(masked + at), narrow(residues));
        }
    }
}

// MASK-4.
void unmask(const std::uint8_t* y, const std::uint8_t* cancellation, std::size_t m,
            std::size_t planes, std::int64_t* out) {
    if (m < 16) return portable::unmask(y, cancellation, m, planes, out);
    const Recombination& recombination = recombinations[planes];
    for (std::size_t i = 0; i < m; i += 16) {
        const std::size_t at = least(i, m - 16);  // the last may overlap those before
        __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
        for (std::size_t p = 0; p < planes; ++p) {
            const __m128i bytes = factors(y + p * m + at, cancellation + p * m + at,
                                          recombination.inverse[p], moduli[p]);
            a = add_weighted<0>(a, bytes, recombination.weight[p]);
            b = add_weighted<4>(b, bytes, recombination.weight[p]);
            c = add_weighted<8>(c, bytes, recombination.weight[p]);
            d = add_weighted<12>(d, bytes, recombination.weight[p]);
        }
        store(out + at, centre_4(a, planes));
        store(out + at + 4, centre_4(b, planes));
        store(out + at + 8, centre_4(c, planes));
        store(out + at + 12, centre_4(d, planes));
    }
}

}  // namespace slip::kernels::avx2
