// The inner products of the integrity check (INTEG-3).
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"

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

namespace {

/// sum a b = s_0 + 2^52 s_1 + 2^104 s_2 with a = a_0 + 2^52 a_1: vpmadd52 adds the low or the high
/// 52 bits of a product of 52-bit numbers. `of`: lo(a_0 b_0), hi(a_0 b_0), lo(a_0 b_1), lo(a_1
/// b_0), hi(a_0 b_1), hi(a_1 b_0), lo(a_1 b_1); named so, because g++ 12 keeps arrays in memory.
struct Sums52 {
    __m512i low_00, high_00, low_01, low_10, high_01, high_10, low_11;
};

[[gnu::always_inline]] inline void add_products(Sums52& sums, __m512i a, __m512i b) {
    const __m512i a_1 = _mm512_srli_epi64(a, 52);
    const __m512i b_1 = _mm512_srli_epi64(b, 52);
    sums.low_00 = _mm512_madd52lo_epu64(sums.low_00, a, b);
    sums.high_00 = _mm512_madd52hi_epu64(sums.high_00, a, b);
    sums.low_01 = _mm512_madd52lo_epu64(sums.low_01, a, b_1);
    sums.low_10 = _mm512_madd52lo_epu64(sums.low_10, a_1, b);
    sums.high_01 = _mm512_madd52hi_epu64(sums.high_01, a, b_1);
    sums.high_10 = _mm512_madd52hi_epu64(sums.high_10, a_1, b);
    sums.low_11 = _mm512_madd52lo_epu64(sums.low_11, a_1, b_1);
}

UInt128 lane_sum(__m512i v) {
    alignas(64) std::uint64_t lanes[8];
    _mm512_store_si512(lanes, v);
    UInt128 sum = 0;
    for (const std::uint64_t lane : lanes) sum += lane;
    return sum;
}

/// Below 2^52 a term, so 2^12 terms a lane fit; with 8 lanes s_0 < 2^67, s_1 < 2^69, s_2 < 2^69,
/// and with 2^104 = 2^43 mod p the total stays below 2^122.
std::uint64_t residue_of(const Sums52& sums) {
    const UInt128 s_0 = lane_sum(sums.low_00);
    const UInt128 s_1 = lane_sum(sums.high_00) + lane_sum(sums.low_01) + lane_sum(sums.low_10);
    const UInt128 s_2 = lane_sum(sums.high_01) + lane_sum(sums.high_10) + lane_sum(sums.low_11);
    return reduce_p61_wide(s_0 + (s_1 << 52) + (s_2 << 43));
}

/// Requires n <= 2^15, 2^12 terms a lane.
std::uint64_t short_dot(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    const __m512i zero = _mm512_setzero_si512();
    Sums52 sums{zero, zero, zero, zero, zero, zero, zero};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        add_products(sums, _mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
    }
    if (i < n) {
        const __mmask8 lanes = first_8(n - i);
        add_products(sums, _mm512_maskz_loadu_epi64(lanes, a + i),
                     _mm512_maskz_loadu_epi64(lanes, b + i));
    }
    return residue_of(sums);
}

}  // namespace

std::uint64_t dot_p61(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    constexpr std::size_t pass = std::size_t{1} << 15;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < n; i += pass) {
        sum = canonical_p61(sum + short_dot(a + i, b + i, least(pass, n - i)));
    }
    return sum;
}

}  // namespace slip::kernels::avx512
