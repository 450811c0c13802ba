// Charlie's low-rank part (LIN-2, DECO-7): y = 2^t y_D + A (B q).
#include <algorithm>
#include <limits>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels::portable {
namespace {

/// Products of B with a limb of q that one 32-bit sum holds:
/// 32767 * 2^7 * 512 = 2,147,418,112 <= 2^31 - 1.
constexpr std::size_t pass = 512;
static_assert(32767 * (std::int64_t{1} << 7) * std::int64_t{pass} <=
              std::numeric_limits<std::int32_t>::max());

}  // namespace

// q = low + 2^8 high with -2^7 <= low <= 2^7 - 1 and |high| <= (32767 + 2^7) / 2^8, so
// |high| <= 2^7: each limb times an int16 leaves room for `pass` products in 32 bits.
void low_rank_inner(const std::int16_t* bmat, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    alignas(64) std::int16_t low[pass];
    alignas(64) std::int16_t high[pass];
    std::fill_n(z, k, 0);
    for (std::size_t first = 0; first < n; first += pass) {
        const std::size_t width = std::min(pass, n - first);
        for (std::size_t j = 0; j < width; ++j) {
            low[j] = static_cast<std::int8_t>(q[first + j]);  // q mod 2^8, centred
            high[j] = static_cast<std::int16_t>((q[first + j] - low[j]) >> 8);
        }
        for (std::size_t c = 0; c < k; ++c) {
            const std::int16_t* row = bmat + c * n + first;
            std::int32_t low_sum = 0;
            std::int32_t high_sum = 0;
            for (std::size_t j = 0; j < width; ++j) {
                low_sum += row[j] * low[j];
                high_sum += row[j] * high[j];
            }
            z[c] += low_sum + std::int64_t{high_sum} * 256;
        }
    }
    wipe(low, sizeof low);  // activations
    wipe(high, sizeof high);
}

// Unsigned, because partial sums may wrap (DECO-7).
void low_rank_outer(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
                    const std::int32_t* y_david, std::int64_t* y) {
    for (std::size_t i = 0; i < m; ++i) {
        std::uint64_t sum = static_cast<std::uint64_t>(std::int64_t{y_david[i]}) << 20;
        for (std::size_t c = 0; c < k; ++c) {
            sum += static_cast<std::uint64_t>(std::int64_t{a[i * k + c]}) *
                   static_cast<std::uint64_t>(z[c]);
        }
        y[i] = static_cast<std::int64_t>(sum);
    }
}

}  // namespace slip::kernels::portable
