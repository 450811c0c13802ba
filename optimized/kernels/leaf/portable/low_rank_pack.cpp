// The layouts of the factors. B stays row-major, in 16 bits per entry. So does A; behind its
// entries, shifted right by their row's exponent, stand the exponents, one byte per row.
#include <algorithm>

#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {
namespace {

// Functions of their own, of which proofs/asm proves what they do.

[[gnu::noinline]] std::uint8_t least_exponent(const std::int32_t* row, std::size_t k) {
    return exponent_of(row, k);
}

/// A row of A, of multiples of 2^exponent.
[[gnu::noinline]] void shift_row(const std::int32_t* row, std::size_t k, std::uint8_t exponent,
                                 std::int16_t* packed) {
    for (std::size_t c = 0; c < k; ++c) packed[c] = static_cast<std::int16_t>(row[c] >> exponent);
}

}  // namespace

std::size_t right_bytes(std::size_t k, std::size_t n) { return k * n * sizeof(std::int16_t); }

void pack_right(const std::int16_t* b, std::size_t k, std::size_t n, PackedRight* right) {
    std::copy_n(b, k * n, reinterpret_cast<std::int16_t*>(right));
}

std::size_t left_bytes(std::size_t m, std::size_t k) { return m * (k * sizeof(std::int16_t) + 1); }

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left) {
    std::uint8_t* bytes = raw(left);
    auto* const entries = reinterpret_cast<std::int16_t*>(bytes);
    std::uint8_t* const exponents = bytes + m * k * sizeof *entries;
    for (std::size_t i = 0; i < m; ++i) {
        const std::uint8_t exponent = least_exponent(a + i * k, k);
        exponents[i] = exponent;
        shift_row(a + i * k, k, exponent, entries + i * k);
    }
}

}  // namespace slip::kernels::portable
