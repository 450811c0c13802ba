// The layout of A: see layout.hpp.
#include "optimized/kernels/leaf/avx2/layout.hpp"
#include "optimized/kernels/leaf/factor_limbs.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx2 {
namespace {

// Functions of their own, of which proofs/asm proves what they do.

[[gnu::noinline]] std::uint8_t least_exponent(const std::int32_t* row, std::size_t k) {
    return exponent_of(row, k);
}

/// A row of A, of multiples of 2^exponent: its part of each pair of columns of its group.
[[gnu::noinline]] void pack_row(const std::int32_t* row, std::size_t k, std::uint8_t exponent,
                                std::int16_t* packed) {
    std::size_t c = 0;
    for (; c + 1 < k; c += 2, packed += pair_elements) {
        packed[0] = static_cast<std::int16_t>(row[c] >> exponent);
        packed[1] = static_cast<std::int16_t>(row[c + 1] >> exponent);
    }
    if (c < k) {
        packed[0] = static_cast<std::int16_t>(row[c] >> exponent);
        packed[1] = 0;
    }
}

/// The zeros of a row that the last group has and A has not.
[[gnu::noinline]] void clear_row(std::size_t pairs, std::int16_t* packed) {
    for (; pairs > 0; --pairs, packed += pair_elements) packed[0] = packed[1] = 0;
}

}  // namespace

std::size_t left_bytes(std::size_t m, std::size_t k) {
    return groups_of(m) * (pairs_of(k) * pair_elements * sizeof(std::int16_t) + group_rows);
}

void pack_left(const std::int32_t* a, std::size_t m, std::size_t k, PackedLeft* left) {
    auto* group = reinterpret_cast<std::int16_t*>(left);
    std::uint8_t* const exponents =
        raw(left) + groups_of(m) * pairs_of(k) * (pair_elements * sizeof *group);
    for (std::size_t first = 0; first < m;
         first += group_rows, group += pairs_of(k) * pair_elements) {
        for (std::size_t r = 0; r < group_rows; ++r) {
            const std::size_t i = first + r;
            if (i < m) {
                const std::uint8_t exponent = least_exponent(a + i * k, k);
                exponents[i] = exponent;
                pack_row(a + i * k, k, exponent, group + 2 * r);
            } else {
                exponents[i] = 0;
                clear_row(pairs_of(k), group + 2 * r);
            }
        }
    }
}

}  // namespace slip::kernels::avx2
