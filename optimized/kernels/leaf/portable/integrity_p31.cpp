// The two products of the integrity check (INTEG-2, INTEG-3).
#include <algorithm>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/portable/limbs.hpp"
#include "optimized/kernels/leaf/portable/portable.hpp"

namespace slip::kernels::portable {
namespace {

/// Columns of W whose sums lie on the stack at a time.
constexpr std::size_t block = 1024;

/// Sums over rows of W, one a column: of the low limbs and of the high limbs of rho.
struct LimbSums {
    alignas(64) std::int32_t low[block];
    alignas(64) std::int32_t high[block];
};

/// sums[j] += sum_i rho[i] w[i][j] over R rows that are `stride` apart.
template <std::size_t R>
void add_rows(const std::int8_t* w, std::size_t stride, std::size_t n, const std::uint32_t* rho,
              LimbSums& sums) {
    Limbs limbs[R];
    for (std::size_t i = 0; i < R; ++i) limbs[i] = split_p31(rho[i]);
    for (std::size_t j = 0; j < n; ++j) {
        std::int32_t low = sums.low[j];
        std::int32_t high = sums.high[j];
        for (std::size_t i = 0; i < R; ++i) {
            const std::int16_t weight = w[i * stride + j];
            low += weight * limbs[i].low;
            high += weight * limbs[i].high;
        }
        sums.low[j] = low;
        sums.high[j] = high;
    }
}

}  // namespace

// A product of two residues is below 2^62 and 2^31 = 1 mod p, so its two halves of 31 bits are
// summed apart. Each sum holds 2^33 terms.
std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t product = std::uint64_t{a[i]} * b[i];
        low += product & P31::p;
        high += product >> 31;
    }
    return canonical_p31(reduce_p31(low) + reduce_p31(high));
}

void check_vector_p31(const std::int8_t* w, std::size_t m, std::size_t n, const std::uint32_t* rho,
                      std::uint32_t* s) {
    LimbSums sums;
    alignas(64) std::int64_t totals[block];
    for (std::size_t first = 0; first < n; first += block) {
        const std::size_t width = std::min(block, n - first);
        std::fill_n(totals, width, 0);
        for (std::size_t top = 0; top < m; top += pass) {  // at most `pass` rows a 32-bit sum
            const std::size_t end = std::min(m, top + pass);
            std::fill_n(sums.low, width, 0);
            std::fill_n(sums.high, width, 0);
            std::size_t i = top;
            for (; i + 4 <= end; i += 4) add_rows<4>(w + i * n + first, n, width, rho + i, sums);
            for (; i < end; ++i) add_rows<1>(w + i * n + first, n, width, rho + i, sums);
            for (std::size_t j = 0; j < width; ++j) {
                totals[j] += recombine(sums.low[j], sums.high[j]);
            }
        }
        for (std::size_t j = 0; j < width; ++j) s[first + j] = embed_p31(totals[j]);
    }
    wipe(&sums, sizeof sums);
    wipe(totals, sizeof totals);
}

}  // namespace slip::kernels::portable
