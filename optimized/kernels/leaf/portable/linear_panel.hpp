// What products with packed weights are made of: the columns of X that they take at a time, the
// sums of products, and what is left of these. Not inlined, so that each is proved once; in a file
// of their own, so that their callers know no more of them than what is declared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/leaf/plane_pairs.hpp"

namespace slip::kernels::portable {

/// Columns of W whose vectors lie on the stack at a time, at most 64 KiB; longer rows take several
/// panels.
inline constexpr std::size_t panel = 8192;
static_assert(panel % pair_pass == 0);

/// The operands of a product. Vector v has pair v mod pairs of column v / pairs; the primes of its
/// planes begin with that of number `offset`.
struct Product {
    const std::int8_t* w;
    std::size_t m, n, planes, offset;
    const std::uint8_t* x;
    std::uint8_t* y;
};

/// Joins elements first .. first + width - 1 of a vector.
void join_planes(const Product& product, std::size_t vector, std::size_t first, std::size_t width,
                 std::int16_t* joined);

/// sums[r][v] += w[r][j] x[v][j], summed over j < n, for rows of W that are `stride` apart and
/// vectors that are `panel` apart. Requires n <= pair_pass, so that sums of 32 bits are exact.
using AddProducts = void(const std::int8_t* w, std::size_t stride, const std::int16_t* x,
                         std::size_t n, std::int64_t* sums);
AddProducts add_products_2_4, add_products_4_2, add_products_4_1, add_products_1_4,
    add_products_1_2, add_products_1_1;

/// Of R rows and V vectors.
template <std::size_t R, std::size_t V>
constexpr AddProducts* add_products = nullptr;
template <>
inline constexpr AddProducts* add_products<2, 4> = add_products_2_4;
template <>
inline constexpr AddProducts* add_products<4, 2> = add_products_4_2;
template <>
inline constexpr AddProducts* add_products<4, 1> = add_products_4_1;
template <>
inline constexpr AddProducts* add_products<1, 4> = add_products_1_4;
template <>
inline constexpr AddProducts* add_products<1, 2> = add_products_1_2;
template <>
inline constexpr AddProducts* add_products<1, 1> = add_products_1_1;

/// Element i of the planes of a vector of Y: sum, and what earlier panels left, modulo each prime.
void finish(const Product& product, std::size_t vector, std::size_t i, bool first_panel,
            std::int64_t sum);

}  // namespace slip::kernels::portable
