// The layouts of the factors: see twelve_bits.hpp.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/twelve_bits.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

/// `count` entries of a row of B, 0 to slice, and zeros. A function of its own, of which proofs/asm
/// proves what it does.
[[gnu::noinline]] void pack_slice(const std::int16_t* row, std::size_t count,
                                  std::uint8_t* packed) {
    const auto entry = [&](std::size_t g, std::size_t lane) {
        const std::size_t j = g * packed_lanes + lane;
        return j < count ? row[j] : std::int16_t{0};
    };
    pack_four(entry, packed);
}

}  // namespace

std::size_t right_bytes(std::size_t k, std::size_t n) {
    return groups_of(k) * slices_of(n) * group_rows * four_bytes;
}

void pack_right(const std::int16_t* b, std::size_t k, std::size_t n, PackedRight* right) {
    if (n == 0) return;
    std::uint8_t* group = raw(right);
    for (std::size_t c = 0; c < k;
         c += group_rows, group += slices_of(n) * group_rows * four_bytes) {
        std::uint8_t* packed = group;
        for (std::size_t j = 0; j < n; j += slice) {
            for (std::size_t r = 0; r < group_rows; ++r, packed += four_bytes) {
                const bool is_row = c + r < k;
                pack_slice(is_row ? b + (c + r) * n + j : b, is_row ? least(n - j, slice) : 0,
                           packed);
            }
        }
    }
}

std::size_t left_bytes(std::size_t m, std::size_t k) {
    return exponents_at(m, k) + panels_of(m) * panel_rows;
}

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left) {
    std::uint8_t* bytes = raw(left);
    std::uint8_t* const exponents = bytes + exponents_at(m, k);
    for (std::size_t i = 0; i < panels_of(m) * panel_rows; ++i) {
        exponents[i] = i < m ? exponent_of(a + i * k, k) : std::uint8_t{0};
    }
    for (std::size_t column = 0; column < k; column += factor_pass) {
        const std::size_t width = least(k - column, factor_pass);
        for (std::size_t first = 0; first < panels_of(m) * panel_rows; first += panel_rows) {
            for (std::size_t pair = 0; pair < pairs_of(width); ++pair, bytes += four_bytes) {
                const auto entry = [&](std::size_t g, std::size_t lane) {
                    const std::size_t i = first + g * packed_lanes / 2 + lane / 2;
                    const std::size_t c = 2 * pair + lane % 2;
                    if (i >= m || c >= width) return 0;
                    return a[i * k + column + c] >> exponents[i];
                };
                pack_four(entry, bytes);
            }
        }
    }
}

}  // namespace slip::kernels::avx512
