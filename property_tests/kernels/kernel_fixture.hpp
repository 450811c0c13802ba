// What the tests of kernels share: inputs with every kind of filling.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/contracts.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::testing {

using base::parameters::primes;
using kernels::Backend;
using Bytes = std::vector<std::uint8_t>;
using Sizes = std::initializer_list<std::size_t>;

inline constexpr std::size_t most_planes = primes.size();

inline std::vector<std::int8_t> weights(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<std::int8_t>(kind, count, -127, 127, {-127, 127, -1, 0, 1}, random);
}
/// The same through RapidCheck, as the others below.
inline rc::Gen<List<std::int8_t>> any_weights(std::size_t count) {
    return any_list<std::int8_t>(count, -127, 127, {-127, 127, -1, 0, 1});
}

/// b columns of n residues (RING-5). Fill::one_hot has one in every plane of every column.
inline Bytes residues(Fill kind, std::size_t b, std::size_t n, std::size_t planes,
                      std::mt19937_64& random) {
    Bytes columns;
    for (std::size_t v = 0; v < b * planes; ++v) {
        const std::uint8_t prime = primes[v % planes], half = prime / 2U;
        const auto plane = fill<std::uint8_t>(
            kind, n, 0, static_cast<std::uint8_t>(prime - 1),
            {0, 1, half, static_cast<std::uint8_t>(half + 1), static_cast<std::uint8_t>(prime - 1)},
            random);
        columns.insert(columns.end(), plane.begin(), plane.end());
    }
    return columns;
}

/// The same, drawn within a property.
inline Bytes drawn_residues(std::size_t b, std::size_t n, std::size_t planes,
                            const std::string& name) {
    Bytes columns;
    for (std::size_t v = 0; v < b * planes; ++v) {
        const auto plane =
            *any_list<std::uint8_t>(n, 0, static_cast<std::uint8_t>(primes[v % planes] - 1))
                 .as(name);
        columns.insert(columns.end(), plane.begin(), plane.end());
    }
    return columns;
}

/// v mod the prime of a plane (RING-2).
inline std::uint8_t residue_of(std::int64_t v, std::size_t plane) {
    const std::int64_t prime = primes[plane];
    return static_cast<std::uint8_t>((v % prime + prime) % prime);
}

inline const std::vector<std::int16_t> activation_edges = {-32767, 32767, -128, 127, 128, 0};
inline std::vector<std::int16_t> activations(Fill kind, std::size_t count,
                                             std::mt19937_64& random) {
    return fill<std::int16_t>(kind, count, -32767, 32767, activation_edges, random);
}
inline rc::Gen<List<std::int16_t>> any_activations(std::size_t count) {
    return any_list<std::int16_t>(count, -32767, 32767, activation_edges);
}

/// PARAM-2: entries of B.
inline const std::vector<std::int16_t> factor_edges = {-2047, 2047, -256, 127, 128, -1, 0, 1};
inline std::vector<std::int16_t> right_factor(Fill kind, std::size_t count,
                                              std::mt19937_64& random) {
    return fill<std::int16_t>(kind, count, -2047, 2047, factor_edges, random);
}
inline rc::Gen<List<std::int16_t>> any_right_factor(std::size_t count) {
    return any_list<std::int16_t>(count, -2047, 2047, factor_edges);
}

/// The exponents of the rows of an A: one of them all, or a mixture.
enum class Exponents { zero, one, twenty, mixed };
inline const std::vector<Exponents> all_exponents = {Exponents::zero, Exponents::one,
                                                     Exponents::twenty, Exponents::mixed};

/// PARAM-2: A, m x k; of mixed exponents, a third of the rows are zeros.
inline std::vector<std::int32_t> left_factor(Fill kind, Exponents exponents, std::size_t m,
                                             std::size_t k, std::mt19937_64& random) {
    auto a = fill<std::int32_t>(kind, m * k, -2047, 2047, {-2047, 2047, -1, 0, 1}, random);
    for (std::size_t i = 0; i < m; ++i) {
        const bool is_mixed = exponents == Exponents::mixed;
        const auto exponent = is_mixed                       ? static_cast<int>(random() % 21)
                              : exponents == Exponents::zero ? 0
                              : exponents == Exponents::one  ? 1
                                                             : 20;
        const std::int32_t unit = is_mixed && random() % 3 == 0 ? 0 : 1 << exponent;
        for (std::size_t c = i * k; c < (i + 1) * k; ++c) a[c] *= unit;
    }
    return a;
}

/// The same, drawn within a property.
inline std::vector<std::int32_t> drawn_left_factor(std::size_t m, std::size_t k) {
    List<std::int32_t> a = *any_list<std::int32_t>(m * k, -2047, 2047).as("A before its exponents");
    const auto exponents =
        *any_list<unsigned>(m, 0, base::parameters::largest_row_exponent, {0, 1, 20})
             .as("exponents of A");
    for (std::size_t i = 0; i < m * k; ++i) a[i] *= 1 << exponents[i / k];
    return a;
}

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : kernels::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

/// Where a test looks for bytes that a kernel must leave alone.
inline constexpr std::uint8_t sentinel = 0xfe;  // no residue

/// W as a backend's products read it; the byte behind it is checked to be untouched.
class Packed {
public:
    Packed(const Backend& backend, const std::vector<std::int8_t>& w, std::size_t m, std::size_t n)
        : backend_(backend), m_(m), n_(n), bytes_(backend.packed_bytes(m, n) + 1) {
        constexpr kernels::PackedWeights untouched{0x5a};
        bytes_[bytes_.size() - 1] = untouched;
        backend.pack(w.data(), m, n, bytes_.data());
        EXPECT_EQ(bytes_[bytes_.size() - 1], untouched);
    }

    Bytes multiply(const Bytes& x, std::size_t b, std::size_t planes) const {
        Bytes y(b * planes * m_ + 1, sentinel);
        backend_.gemm(bytes_.data(), m_, n_, x.data(), b, planes, y.data());
        EXPECT_EQ(y.back(), sentinel);
        y.pop_back();
        for (std::size_t p = 0; p < planes; ++p) expect_plane(x, b, planes, p, y);
        return y;
    }

    /// HIDE-1: plane p by itself is that of the whole product.
    void expect_plane(const Bytes& x, std::size_t b, std::size_t planes, std::size_t p,
                      const Bytes& y) const {
        const auto plane_of = [&](const Bytes& columns, std::size_t length) {
            Bytes own;
            for (std::size_t c = 0; c < b; ++c) {
                const auto first =
                    columns.begin() + static_cast<std::ptrdiff_t>((c * planes + p) * length);
                own.insert(own.end(), first, first + static_cast<std::ptrdiff_t>(length));
            }
            return own;
        };
        const Bytes own = plane_of(x, n_);
        Bytes found(b * m_ + 1, sentinel);
        backend_.gemm_plane(bytes_.data(), m_, n_, own.data(), b, p, found.data());
        EXPECT_EQ(found.back(), sentinel);
        found.pop_back();
        EXPECT_EQ(found, plane_of(y, m_)) << "plane " << p;
    }

    const kernels::PackedWeights* data() const { return bytes_.data(); }

private:
    const Backend& backend_;
    std::size_t m_, n_;
    base::SecretBuffer<kernels::PackedWeights> bytes_;  // aligned to 64
};

/// Combinations as a backend reads them, likewise.
class PackedRows {
public:
    PackedRows(const Backend& backend, const Bytes& w, std::size_t n, std::size_t planes)
        : backend_(backend), planes_(planes), bytes_(backend.combinations_bytes(n, planes) + 1) {
        constexpr kernels::PackedCombinations untouched{0x5a};
        bytes_[bytes_.size() - 1] = untouched;
        backend.pack_combinations(w.data(), n, planes, bytes_.data());
        EXPECT_EQ(bytes_[bytes_.size() - 1], untouched);
    }

    /// The inner products with the first n entries.
    Bytes combine(const Bytes& v, std::size_t n, std::size_t b) const {
        Bytes out(b * planes_ * base::parameters::kappa + 1, sentinel);
        backend_.combine(bytes_.data(), n, planes_, v.data(), b, out.data());
        EXPECT_EQ(out.back(), sentinel);
        out.pop_back();
        return out;
    }

private:
    const Backend& backend_;
    std::size_t planes_;
    base::SecretBuffer<kernels::PackedCombinations> bytes_;
};

}  // namespace slip::testing
