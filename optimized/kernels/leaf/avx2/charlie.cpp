// Charlie's two long sums: the integrity check's dot product (INTEG-3) and B q (DECO-7).
#include "optimized/base/secret_buffer.hpp"
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

/// Elements of a row of B at a time. q = low + 2^8 high with |low|, |high| <= 2^7, and each of the
/// 8 lanes sums an eighth of the products: 32767 * 2^7 * 512 = 2,147,418,112 <= 2^31 - 1.
constexpr std::size_t pass = 512 * 8;

struct Limbs {
    alignas(32) std::int16_t low[pass];
    alignas(32) std::int16_t high[pass];
};

/// The limbs of n elements, zeros after them up to a multiple of 16.
void split(const std::int16_t* q, std::size_t n, Limbs& limbs) {
    for (std::size_t j = 0; j < n; ++j) {
        limbs.low[j] = static_cast<std::int8_t>(q[j]);  // q mod 2^8, centred
        limbs.high[j] = static_cast<std::int16_t>((q[j] - limbs.low[j]) >> 8);
    }
    for (std::size_t j = n; j % 16 != 0; ++j) limbs.low[j] = limbs.high[j] = 0;
}

std::int64_t lane_sum(__m256i v) {
    std::int32_t lanes[8];
    store(lanes, v);
    std::int64_t sum = 0;
    for (const std::int32_t lane : lanes) sum += lane;
    return sum;
}

/// One row of B times q, for one pass.
std::int64_t row_product(const std::int16_t* row, std::size_t n, const Limbs& q) {
    __m256i low = _mm256_setzero_si256();
    __m256i high = _mm256_setzero_si256();
    const auto add = [&](const std::int16_t* weights, std::size_t j) {
        low = add_products(low, load(weights), load(q.low + j));
        high = add_products(high, load(weights), load(q.high + j));
    };
    std::size_t j = 0;
    for (; j + 16 <= n; j += 16) add(row + j, j);
    if (j < n) {
        alignas(32) std::int16_t last[16] = {};
        __builtin_memcpy(last, row + j, (n - j) * sizeof *row);
        add(last, j);
    }
    return lane_sum(low) + lane_sum(high) * 256;
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

void low_rank_inner(const std::int16_t* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    Limbs limbs;
    for (std::size_t c = 0; c < k; ++c) z[c] = 0;
    for (std::size_t first = 0; first < n; first += pass) {
        const std::size_t width = least(pass, n - first);
        split(q + first, width, limbs);
        for (std::size_t c = 0; c < k; ++c) {
            z[c] += row_product(right + c * n + first, width, limbs);
        }
    }
    wipe(limbs.low, least(pass, n) * sizeof(std::int16_t));  // activations
    wipe(limbs.high, least(pass, n) * sizeof(std::int16_t));
}

}  // namespace slip::kernels::avx2
