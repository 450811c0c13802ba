// The layouts of the factors: see twelve_bits.hpp.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/twelve_bits.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

// Functions of their own, of which proofs/asm proves what they do.

/// `count` entries of a row of B, 0 to slice, and zeros.
[[gnu::noinline]] void pack_slice(const std::int16_t* row, std::size_t count,
                                  std::uint8_t* packed) {
    const auto entry = [&](std::size_t g, std::size_t lane) {
        const std::size_t j = g * packed_lanes + lane;
        return j < count ? row[j] : std::int16_t{0};
    };
    pack_four(entry, packed);
}

[[gnu::noinline]] std::uint8_t least_exponent(const std::int32_t* row, std::size_t k) {
    return exponent_of(row, k);
}

/// The exponents of A's rows, and zeros up to the end of the last panel.
[[gnu::noinline]] void find_exponents(const std::int32_t* a, std::size_t m, std::size_t k,
                                      std::uint8_t* exponents) {
    std::size_t i = 0;
    for (; i < m; ++i) exponents[i] = least_exponent(a + i * k, k);
    for (; i < panels_of(m) * panel_rows; ++i) exponents[i] = 0;
}

/// `width` entries of a row of A, of multiples of 2^exponent, and zeros: a pass of columns.
[[gnu::noinline]] void shift_row(const std::int32_t* row, std::size_t width, std::uint8_t exponent,
                                 std::int16_t* shifted) {
    for (std::size_t c = 0; c < factor_pass; ++c) {
        shifted[c] = c < width ? static_cast<std::int16_t>(row[c] >> exponent) : std::int16_t{0};
    }
}

/// The first pairs of columns of a panel's rows, which `shifted` has one after the other.
[[gnu::noinline]] void pack_pairs(const std::int16_t* shifted, std::size_t pairs,
                                  std::uint8_t* packed) {
    for (; pairs > 0; --pairs, shifted += 2, packed += four_bytes) {
        const auto entry = [&](std::size_t g, std::size_t lane) {
            return shifted[(g * packed_lanes / 2 + lane / 2) * factor_pass + lane % 2];
        };
        pack_four(entry, packed);
    }
}

/// A panel's part of a pass: of `rows` rows of A, at least one, and zeros.
[[gnu::noinline]] void pack_left_panel(const std::int32_t* a, std::size_t rows, std::size_t k,
                                       std::size_t width, const std::uint8_t* exponents,
                                       std::uint8_t* packed) {
    std::int16_t shifted[panel_rows * factor_pass];
    for (std::size_t r = 0; r < panel_rows; ++r) {
        const bool is_row = r < rows;
        shift_row(is_row ? a + r * k : a, is_row ? width : 0, exponents[r],
                  shifted + r * factor_pass);
    }
    pack_pairs(shifted, pairs_of(width), packed);
    base::wipe(shifted, sizeof shifted);
}

/// The columns of a pass, at most factor_pass.
[[gnu::noinline]] void pack_pass(const std::int32_t* a, std::size_t m, std::size_t k,
                                 std::size_t width, const std::uint8_t* exponents,
                                 std::uint8_t* packed) {
    for (std::size_t first = 0; first < m;
         first += panel_rows, packed += pairs_of(width) * four_bytes) {
        pack_left_panel(a + first * k, least(m - first, panel_rows), k, width, exponents + first,
                        packed);
    }
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
    if (m == 0) return;  // then a may be null
    std::uint8_t* bytes = raw(left);
    std::uint8_t* const exponents = bytes + exponents_at(m, k);
    find_exponents(a, m, k, exponents);
    for (std::size_t column = 0; column < k; column += factor_pass) {
        pack_pass(a + column, m, k, least(k - column, factor_pass), exponents, bytes);
        bytes += panels_of(m) * (factor_pass / 2) * four_bytes;
    }
}

}  // namespace slip::kernels::avx512
