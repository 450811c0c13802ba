// y = 2^t y_D + A z (LIN-2, DECO-7). A stays row-major, in 16 bits per entry; behind the entries,
// shifted right by their row's exponent, stand the exponents, one byte per row.
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

/// y[r] = 2^16 y_david[r] + 2^exponents[r] sum_c a[r][c] z[c] for R rows, which keep the multiplier
/// busy together. Unsigned, because partial sums may wrap (DECO-7).
template <std::size_t R>
void combine_rows(const std::int16_t* a, const std::uint8_t* exponents, std::size_t k,
                  const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y) {
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

std::size_t left_bytes(std::size_t m, std::size_t k) { return m * (k * sizeof(std::int16_t) + 1); }

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left) {
    std::uint8_t* bytes = raw(left);
    auto* const entries = reinterpret_cast<std::int16_t*>(bytes);
    std::uint8_t* const exponents = bytes + m * k * sizeof *entries;
    for (std::size_t i = 0; i < m; ++i) {
        exponents[i] = exponent_of(a + i * k, k);
        for (std::size_t c = i * k; c < (i + 1) * k; ++c) {
            entries[c] =
                static_cast<std::int16_t>(a[c] >> exponents[i]);  // a multiple of 2^exponent
        }
    }
}

void low_rank_outer(const PackedLeft* left, std::size_t m, std::size_t k, unsigned,
                    const std::int64_t* z, const std::int64_t* y_david, std::int64_t* y) {
    const auto* const a = reinterpret_cast<const std::int16_t*>(left);
    const std::uint8_t* const exponents = raw(left) + m * k * sizeof *a;
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) {
        combine_rows<4>(a + i * k, exponents + i, k, z, y_david + i, y + i);
    }
    for (; i < m; ++i) combine_rows<1>(a + i * k, exponents + i, k, z, y_david + i, y + i);
}

}  // namespace slip::kernels::portable
