// What the tests of lattice masks share: stored rows, secrets, columns, and products by the
// definition of a product in R.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/masks/products.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {

using base::parameters::modulus;
using base::parameters::primes;
using masks::Backend;
using masks::degree;
using Bytes = std::vector<std::uint8_t>;
using Integers = std::vector<std::int64_t>;
using Small = std::vector<std::int8_t>;

inline constexpr std::int64_t tau = std::int64_t{1} << 24;

/// What a set fixes: h and d.
struct Shape {
    std::size_t planes, elements;

    std::size_t row() const { return elements * degree; }
};
inline constexpr Shape paper_lattice{5, 8};

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : masks::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

/// `count` rows of integers in 0 .. L-1.
inline Integers any_rows(Fill kind, const Shape& shape, std::size_t count,
                         std::mt19937_64& random) {
    const auto L = static_cast<std::int64_t>(modulus(shape.planes));
    return fill<std::int64_t>(
        kind, count * shape.row(), 0, L - 1,
        {0, 1, L - 1, L / 2, L / 2 + 1, (1 << 24) - 1, 1 << 24, L - (1 << 24)}, random);
}

inline Small any_secret(Fill kind, const Shape& shape, std::mt19937_64& random) {
    return fill<std::int8_t>(kind, shape.row(), -2, 2, random);
}

/// As they are stored.
inline Bytes stored(const Integers& integers, std::size_t planes) {
    Bytes bytes;
    for (const std::int64_t v : integers) {
        for (std::size_t i = 0; i < planes; ++i) {
            bytes.push_back(static_cast<std::uint8_t>(v >> (8 * i)));
        }
    }
    return bytes;
}

/// `count` rows of rounded integers, and as they are stored (MODEL-7).
inline Integers rounded_rows(Fill kind, const Shape& shape, std::size_t count,
                             std::mt19937_64& random) {
    return fill<std::int64_t>(kind, count * shape.row(), -masks::most_rounded, masks::most_rounded,
                              random);
}
inline Bytes stored_rounded(const Integers& integers) {
    Bytes bytes;
    for (std::size_t first = 0; first < integers.size(); first += degree) {
        for (std::size_t j = 0; j < degree / 2; ++j) {
            unsigned bit = 0;
            Bytes pair(masks::rounded_pair_bytes, 0);
            for (const std::size_t at : {first + j, first + j + degree / 2}) {
                const std::int64_t v = integers[at] + (std::int64_t{1} << 43);
                for (unsigned i = 0; i < 44; ++i, ++bit) {
                    pair[bit / 8] |= static_cast<std::uint8_t>((v >> i & 1) << (bit % 8));
                }
            }
            bytes.insert(bytes.end(), pair.begin(), pair.end());
        }
    }
    return bytes;
}

/// MASK-7, over Z: the coefficients of sum_l row[l] secret[l] with X^N = -1. Magnitudes stay below
/// 2^48 * 2 * 2^12 < 2^62.
inline Integers product(const std::int64_t* row, const Small& secret) {
    Integers sum(degree, 0);
    for (std::size_t l = 0; l < secret.size(); l += degree) {
        for (std::size_t a = 0; a < degree; ++a) {
            const std::int64_t factor = row[l + a];
            const std::int8_t* const s = secret.data() + l;
            for (std::size_t b = 0; b < degree - a; ++b) sum[a + b] += factor * s[b];
            for (std::size_t b = degree - a; b < degree; ++b) sum[a + b - degree] -= factor * s[b];
        }
    }
    return sum;
}

/// v mod the prime of a plane (RING-2).
inline std::uint8_t residue_of(std::int64_t v, std::size_t plane) {
    const std::int64_t prime = primes[plane];
    return static_cast<std::uint8_t>((v % prime + prime) % prime);
}

inline constexpr std::uint8_t sentinel = 0xfe;  // no residue

/// The columns of some blocks.
class Columns {
public:
    Columns(std::size_t blocks, std::size_t planes, std::size_t total)
        : bytes_(blocks, std::vector<Bytes>(degree, Bytes(planes * total, sentinel))),
          spans_(blocks) {
        for (std::size_t b = 0; b < blocks; ++b) {
            for (Bytes& column : bytes_[b]) spans_[b].emplace_back(column);
        }
    }
    Columns(const Columns&) = delete;
    Columns& operator=(const Columns&) = delete;

    std::span<const std::span<std::uint8_t>> of(std::size_t block) const { return spans_[block]; }
    const Bytes& column(std::size_t block, std::size_t i) const { return bytes_[block][i]; }
    /// Every byte.
    const std::vector<std::vector<Bytes>>& bytes() const { return bytes_; }

private:
    std::vector<std::vector<Bytes>> bytes_;
    std::vector<std::vector<std::span<std::uint8_t>>> spans_;
};

/// How far a residue is from v, in multiples of `unit`: the least magnitude, or `most` + 1.
inline std::int64_t distance(const Bytes& column, std::size_t planes, std::size_t at,
                             std::int64_t v, std::int64_t unit, std::int64_t most) {
    const std::size_t total = column.size() / planes;
    for (std::int64_t error = 0; error <= most; ++error) {
        for (const std::int64_t moved : {v + error, v - error}) {
            bool equal = true;
            for (std::size_t p = 0; p < planes; ++p) {
                const std::int64_t residue = residue_of(moved, p) * (unit % primes[p]);
                equal = equal && column[p * total + at] == residue_of(residue, p);
            }
            if (equal) return error;
        }
    }
    return most + 1;
}

}  // namespace slip::testing
