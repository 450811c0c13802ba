// z = B q (DECO-7). B stays row-major, in 16 bits per entry, packed by the portable kernel.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

namespace parameters = base::parameters;

/// Elements of a row of B at a time: each of the 8 lanes sums an eighth of the products, 2047 *
/// 32767 * 32 = 2,146,369,568 <= 2^31 - 1.
constexpr std::size_t pass = std::size_t{32} * 8;
static_assert(std::int64_t{parameters::largest_factor} * parameters::largest_activation_norm * 32 <=
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
    // NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result): of 16 bits each
    for (j += whole; j < n; ++j) sum += b[j] * q[j];
    return sum;
}

}  // namespace

// As |b| <= 2047, q needs no limbs.
void low_rank_inner(const PackedRight* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    const auto* row = reinterpret_cast<const std::int16_t*>(right);
    for (std::size_t c = 0; c < k; ++c, row += n) z[c] = row_product(row, q, n);
}

}  // namespace slip::kernels::avx2
