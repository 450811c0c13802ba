// The contracts of ring products with small secrets, which lattice masks are made of (MASK-7). A
// backend is a table of functions that satisfy them; the registry (registry.hpp) picks one.
//
// Common to all: an element of R = Z_L[X] / (X^N + 1) is its N coefficients, of X^0 first; L is the
// product of the first `planes` primes of RING-5, 5 <= planes <= 6. A stored row is `elements`
// elements one after the other, 1 <= elements <= 16, in a Coding. A column of n residues is planes
// * n bytes, plane after plane, that of plane p below primes[p]. Sizes may be 0; outputs overlap no
// inputs. Nothing is allocated or thrown. No branch, no address and no instruction of variable time
// depends on a secret, a stored row or a column; stored rows are public or secret alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/base/parameters.hpp"

namespace slip::masks {

/// N, and the complex numbers that a polynomial of N real coefficients is modulo X^(N/2) - i.
inline constexpr std::size_t degree = base::parameters::paper_lattice.degree;
inline constexpr std::size_t points = degree / 2;
static_assert(degree == 256, "the transform has three steps by four and one by two");

inline constexpr std::size_t least_planes = 5, most_planes = 6;
inline constexpr std::size_t most_elements = 16;
/// Magnitudes of the coefficients of a secret.
inline constexpr int largest_secret = 2;

/// How a row is stored, and the transforms of an element.
enum class Coding {
    /// Integers in 0 .. L-1 of `planes` bytes, little-endian, without gaps. Two transforms, one of
    /// each half: products are exact.
    residues,
    /// The same, of five planes and at most most_elements_centred elements. One transform, of the
    /// coefficients centred: a product is off by at most largest_error.
    centred,
    /// MODEL-7: integers in -2^43 .. 2^43 - 1, 2^43 more in 44 bits: coefficients j and j + 128 are
    /// the lower and the upper bits of the 11 bytes from 11 j on. At most most_elements_rounded
    /// elements, magnitudes of at most most_rounded, and a secret of magnitudes of at most 1. One
    /// transform: a product is off by at most largest_rounded_error.
    rounded,
};
inline constexpr std::size_t most_elements_centred = base::parameters::paper_lattice.rank;
static_assert(most_elements_centred == 8, "README.md computes the error for them");
inline constexpr int largest_error = 12;
static_assert(largest_error <= base::parameters::paper_lattice.allowance);
inline constexpr std::size_t most_elements_rounded = base::parameters::hidden_lattice.rank;
static_assert(most_elements_rounded == 9, "README.md computes the error for them");
/// A rounded integer stands for this many times itself.
inline constexpr std::int64_t rounding = 16;
inline constexpr std::int64_t most_rounded =
    static_cast<std::int64_t>(base::parameters::modulus(6) / 2 / rounding + 1);
inline constexpr int largest_rounded_error = 100;
/// Two rounded integers.
inline constexpr std::size_t rounded_pair_bytes = 11;
/// FIPS 202: the bytes that a permutation of SHAKE-128 gives.
inline constexpr std::size_t shake128_rate = 168;
/// Blocks that share a pass over stored rows.
inline constexpr std::size_t most_blocks = 4;

struct Root {
    double re, im;
};

/// The roots of unity that the transform multiplies with (README.md), each the nearest double:
/// node by node, breadth first, w, w^2 and w^3 of the 1 + 4 + 16 steps by four, then the roots of
/// the first and the third of the four steps by two below each of the last 16.
struct Roots {
    Root by_four[21][3];
    Root by_two[16][2];
};

/// A pass over `count` stored rows: all that multiply() reads and writes.
struct Pass {
    const std::uint8_t* rows;
    std::size_t count;
    std::size_t planes;
    std::size_t elements;  // d
    Coding coding;
    /// What products are multiplied by, modulo the prime of each plane.
    std::uint8_t factor[most_planes];
    /// The rows are first, ..., first + count - 1 of `total`.
    std::size_t first;
    std::size_t total;
    /// `blocks` <= most_blocks: their secrets as transform_secret() leaves them, and the degree
    /// columns of `total` residues of each.
    std::size_t blocks;
    const double* secrets[most_blocks];
    std::uint8_t* const* columns[most_blocks];
};

/// HIDE-5: the numbers of a width that a product is decoded with.
struct Decoding {
    double u[2];
    double of_lift[2];  // Z = of_lift[0] l_1 - of_lift[1] l_2
    double s, reciprocal;
    double least;  // of a residue modulo s
};

struct Backend {
    const char* name;

    /// The bytes of the workspace, aligned to 64, that the two functions below overwrite; secret
    /// afterwards. Monotone in both.
    std::size_t (*workspace_bytes)(std::size_t elements, std::size_t blocks);

    /// spectrum[2 (k elements + l)], and the number behind it: real and imaginary part of the k-th
    /// value of element l over `points`. Requires: elements * degree small integers, |.| <=
    /// largest_secret; room for elements * degree doubles.
    void (*transform_secret)(const Roots& roots, const std::int8_t* small, std::size_t elements,
                             void* workspace, double* spectrum);

    /// MASK-7. For each block b, row j < count, i < degree and plane p, with v = coefficient i of
    /// the sum of row element l times secret element l, exact or off as the coding says:
    ///     columns[b][i][p * total + first + j] = v factor[p] mod primes[p].
    /// No other byte of a column is written. Of rounded rows, |v| < 2^51.
    void (*multiply)(const Roots& roots, const Pass& pass, void* workspace);

    /// MASK-7, RAND-9 with eta = 2: adds tau e_j to residue j < n of a column, in place, where e
    /// are the first n small integers of the stream `bytes`, of (n + 1) / 2 bytes, and tau[p] is
    /// tau mod primes[p].
    void (*add_noise)(const std::uint8_t* bytes, std::size_t n, std::size_t planes,
                      const std::uint8_t* tau, std::uint8_t* column);

    /// HIDE-4: doubles of a matrix of rows * elements small elements, transformed.
    std::size_t (*small_matrix_doubles)(std::size_t rows, std::size_t elements);
    /// In this backend's own layout. Requires: rows * elements * degree small integers, row by row,
    /// |.| <= 1; room for small_matrix_doubles(rows, elements), aligned to 64;
    /// workspace_bytes(elements, 1).
    void (*transform_small_matrix)(const Roots& roots, const std::int8_t* small, std::size_t rows,
                                   std::size_t elements, void* workspace, double* matrix);
    /// HIDE-4: the products of the rows with one column of `elements` elements y, exact modulo each
    /// prime: out[p * m + b * degree + i] = coefficient i of sum_l matrix[b][l] y[l], for b *
    /// degree
    /// + i < m. Requires: matrix from transform_small_matrix(rows = m over degree, rounded up); y:
    /// elements * degree integers, |y| < 2^47; workspace_bytes(elements, 1).
    void (*multiply_small_matrix)(const Roots& roots, const double* matrix, std::size_t elements,
                                  const std::int64_t* y, std::size_t m, std::size_t planes,
                                  void* workspace, std::uint8_t* out);
    /// HIDE-5, in place, modulo L of six planes: each y becomes the residue of its Z modulo s.
    /// Requires: |y| <= (L-1)/2, the numbers of a row of HIDE-2.
    void (*decode)(const Decoding& by, std::size_t count, std::int64_t* y);

    /// RAND-8, FIPS 202: the first `permutations` times shake128_rate bytes of SHAKE-128 of each of
    /// `shake_inputs` inputs, which are public and lie one after the other, as do the outputs.
    /// Requires: inputs of `length` < shake128_rate bytes.
    std::size_t shake_inputs;
    void (*shake128)(const std::uint8_t* inputs, std::size_t length, std::size_t permutations,
                     std::uint8_t* out);
};

}  // namespace slip::masks
