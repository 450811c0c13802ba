// Charlie's two long sums: the integrity check's dot product (INTEG-3) and B q (DECO-7).
#include "optimized/kernels/leaf/avx2/avx2.hpp"
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::avx2 {
namespace {

/// The products of the even and of the odd residues of 8, two a lane: below 2 (p - 1)^2 < 2^63.
[[gnu::always_inline]] inline __m256i products(__m256i a, __m256i b) {
    return _mm256_add_epi64(_mm256_mul_epu32(a, b),
                            _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)));
}

/// Elements of a row of B at a time: each of the 8 lanes sums an eighth of the products, 2047 *
/// 32767 * 32 = 2,146,369,568 <= 2^31 - 1.
constexpr std::size_t pass = 32 * 8;
static_assert(std::int64_t{parameters::largest_factor} * parameters::largest_qa_max * 32 <=
              (std::int64_t{1} << 31) - 1);

/// sum_j b[j] q[j] for n <= pass, n a multiple of 16, in 4 lanes of 64 bits.
[[gnu::always_inline]] inline __m256i pass_product(const std::int16_t* b, const std::int16_t* q,
                                                   std::size_t n) {
    __m256i sum = _mm256_setzero_si256();
    for (std::size_t j = 0; j < n; j += 16) sum = add_products(sum, load(b + j), load(q + j));
    return _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum)),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1)));
}

/// sum_j b[j] q[j]; |sum| < 2^50.
std::int64_t row_product(const std::int16_t* b, const std::int16_t* q, std::size_t n) {
    __m256i sums = _mm256_setzero_si256();
    std::size_t j = 0;
    for (; j + pass <= n; j += pass) {
        sums = _mm256_add_epi64(sums, pass_product(b + j, q + j, pass));
    }
    const std::size_t whole = (n - j) / 16 * 16;
    sums = _mm256_add_epi64(sums, pass_product(b + j, q + j, whole));
    const __m128i two =
        _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    std::int64_t sum = _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1);
    for (j += whole; j < n; ++j) sum += b[j] * q[j];
    return sum;
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

// As |b| <= 2047, q needs no limbs.
void low_rank_inner(const PackedRight* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    const auto* row = reinterpret_cast<const std::int16_t*>(right);
    for (std::size_t c = 0; c < k; ++c, row += n) z[c] = row_product(row, q, n);
}

}  // namespace slip::kernels::avx2
