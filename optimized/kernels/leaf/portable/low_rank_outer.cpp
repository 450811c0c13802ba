// y = 2^t y_D + A z (LIN-2, DECO-7). low_rank_pack.cpp has the layout of A.
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

// A function of its own, of which proofs/asm proves what it does.

/// y[r] = 2^16 y_david[r] + 2^exponents[r] sum_c a[r][c] z[c] for R rows, which keep the multiplier
/// busy together. Unsigned, because partial sums may wrap (DECO-7).
template <std::size_t R>
[[gnu::noinline]] void combine_rows(const std::int16_t* a, const std::uint8_t* exponents,
                                    std::size_t k, const std::int64_t* z,
                                    const std::int64_t* y_david, std::int64_t* y) {
    std::uint64_t sums[R] = {};
    for (std::size_t c = 0; c < k; ++c) {
        const auto factor = static_cast<std::uint64_t>(z[c]);
        for (std::size_t r = 0; r < R; ++r) {
            sums[r] += static_cast<std::uint64_t>(std::int64_t{a[r * k + c]}) * factor;
        }
    }
    for (std::size_t r = 0; r < R; ++r) {
        const auto david = static_cast<std::uint64_t>(y_david[r]);
        y[r] = static_cast<std::int64_t>((david << base::parameters::residual_shift) +
                                         (sums[r] << exponents[r]));
    }
}

}  // namespace

void low_rank_outer(const PackedLeft* left, std::size_t m, std::size_t k, unsigned,
                    const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y) {
    const auto* a = reinterpret_cast<const std::int16_t*>(left);
    const std::uint8_t* const exponents = raw(left) + m * k * sizeof *a;
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4, a += 4 * k) {
        combine_rows<4>(a, exponents + i, k, z, y_david + i, y + i);
    }
    for (; i < m; ++i, a += k) combine_rows<1>(a, exponents + i, k, z, y_david + i, y + i);
}

}  // namespace slip::kernels::portable
