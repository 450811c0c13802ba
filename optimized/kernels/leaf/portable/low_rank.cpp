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

/// y[r] = 2^20 y_david[r] + sum_c a[r][c] z[c] for R rows, which keep the multiplier busy together.
/// Unsigned, because partial sums may wrap (DECO-7).
template <std::size_t R, class Factor, class Product>
void combine_rows(const Factor* a, std::size_t k, const std::int64_t* z, const Product* y_david,
                  std::int64_t* y) {
    std::uint64_t sums[R];
    for (std::size_t r = 0; r < R; ++r) {
        sums[r] = static_cast<std::uint64_t>(std::int64_t{y_david[r]}) << 20;
    }
    for (std::size_t c = 0; c < k; ++c) {
        const auto factor = static_cast<std::uint64_t>(z[c]);
        for (std::size_t r = 0; r < R; ++r) {
            sums[r] += static_cast<std::uint64_t>(std::int64_t{a[r * k + c]}) * factor;
        }
    }
    for (std::size_t r = 0; r < R; ++r) y[r] = static_cast<std::int64_t>(sums[r]);
}

template <class Factor, class Product>
void combine(const Factor* a, std::size_t m, std::size_t k, const std::int64_t* z,
             const Product* y_david, std::int64_t* y) {
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) combine_rows<4>(a + i * k, k, z, y_david + i, y + i);
    for (; i < m; ++i) combine_rows<1>(a + i * k, k, z, y_david + i, y + i);
}

}  // namespace

// q = low + 2^8 high with -2^7 <= low <= 2^7 - 1 and |high| <= (32767 + 2^7) / 2^8, so
// |high| <= 2^7: each limb times an int16 leaves room for `pass` products in 32 bits.
void low_rank_inner(const std::int16_t* right, std::size_t k, std::size_t n, const std::int16_t* q,
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
            const std::int16_t* row = right + c * n + first;
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

void low_rank_outer(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
                    const std::int32_t* y_david, std::int64_t* y) {
    combine(a, m, k, z, y_david, y);
}

void low_rank_outer(const std::int32_t* a, std::size_t m, std::size_t k, const std::int64_t* z,
                    const std::int64_t* y_david, std::int64_t* y) {
    combine(a, m, k, z, y_david, y);
}

// Factors stay row-major, and 64-bit products need no limbs.
std::size_t right_bytes(std::size_t k, std::size_t n) { return k * n * sizeof(std::int16_t); }

void pack_right(const std::int16_t* b, std::size_t k, std::size_t n, std::int16_t* right) {
    std::copy_n(b, k * n, right);
}

std::size_t left_bytes(std::size_t m, std::size_t k) { return m * k * sizeof(std::int16_t); }

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, std::int16_t* narrow) {
    for (std::size_t i = 0; i < m * k; ++i) narrow[i] = static_cast<std::int16_t>(a[i]);
}

void low_rank_outer_narrow(const std::int16_t* narrow, std::size_t m, std::size_t k, unsigned,
                           const std::int64_t* z, const std::int32_t* y_david, std::int64_t* y) {
    combine(narrow, m, k, z, y_david, y);
}

void low_rank_outer_narrow(const std::int16_t* narrow, std::size_t m, std::size_t k, unsigned,
                           const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y) {
    combine(narrow, m, k, z, y_david, y);
}

}  // namespace slip::kernels::portable
