// What the tests of kernels share: inputs with every kind of filling, and oracles.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/contracts.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/generators/profiles.hpp"
#include "property_tests/generators/values.hpp"
#include "reference/linear.hpp"
#include "reference/ring.hpp"

namespace slip::kernel_tests {

using generators::all_fills;
using generators::any_list;
using generators::any_size;
using generators::Fill;
using generators::fill;
using generators::List;
using kernels::Backend;
using kernels::P31;
using reference::Integer;
using Sizes = std::initializer_list<std::size_t>;

template <class P>
const reference::Ring& ring() {
    static const reference::Ring value{Integer(P::p)};
    return value;
}

inline std::vector<std::int8_t> weights(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<std::int8_t>(kind, count, -127, 127, {-127, 127, -1, 0, 1}, random);
}
/// The same through RapidCheck, as any_residues() and the others below.
inline rc::Gen<List<std::int8_t>> any_weights(std::size_t count) {
    return any_list<std::int8_t>(count, -127, 127, {-127, 127, -1, 0, 1});
}

/// Residues at which bytes or limbs of 16 bits are as large as they get.
template <class P>
std::vector<typename P::Residue> edges() {
    constexpr typename P::Residue p = P::p, one = 1, half = (p - 1) / 2;
    return {0,
            1,
            p - 1,
            half,
            half + 1,
            32767,
            32768,
            p - 32768,
            (one << (P::bits - 1)) - 32768,
            p - (one << (P::bits - 1)) + 1,
            0x00ffffff,
            p & 0x55aa55aa};
}

template <class P>
std::vector<typename P::Residue> residues(Fill kind, std::size_t count, std::mt19937_64& random) {
    return fill<typename P::Residue>(kind, count, 0, P::p - 1, edges<P>(), random);
}
template <class P>
rc::Gen<List<typename P::Residue>> any_residues(std::size_t count) {
    return any_list<typename P::Residue>(count, 0, P::p - 1, edges<P>());
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

template <class T>
reference::Matrix to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    reference::Matrix result(rows, cols);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j) result(i, j) = values[i * cols + j];
    }
    return result;
}

template <class T>
reference::Vector to_vector(const std::vector<T>& values) {
    return {values.begin(), values.end()};
}

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : kernels::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

/// W as a backend's products read it; the byte behind it is checked to be untouched.
template <class P>
class Packed {
public:
    Packed(const Backend& backend, const std::vector<std::int8_t>& w, std::size_t m, std::size_t n)
        : backend_(backend), m_(m), n_(n), bytes_(backend.of<P>().packed_bytes(m, n) + 1) {
        bytes_[bytes_.size() - 1] = sentinel;
        backend.of<P>().pack(w.data(), m, n, bytes_.data());
        EXPECT_EQ(bytes_[bytes_.size() - 1], sentinel);
    }

    std::vector<typename P::Residue> multiply(const std::vector<typename P::Residue>& x,
                                              std::size_t b) const {
        constexpr typename P::Residue untouched = 0xfeedbeef;
        std::vector<typename P::Residue> y(b * m_ + 1, untouched);
        backend_.of<P>().gemm(bytes_.data(), m_, n_, x.data(), b, y.data());
        EXPECT_EQ(y.back(), untouched);
        y.pop_back();
        return y;
    }

    std::vector<typename P::Residue> check_vector(
        const std::vector<typename P::Residue>& rho) const {
        constexpr typename P::Residue untouched = 0xfeedbeef;
        std::vector<typename P::Residue> s(n_ + 1, untouched);
        backend_.of<P>().check_vector(bytes_.data(), m_, n_, rho.data(), s.data());
        EXPECT_EQ(s.back(), untouched);
        s.pop_back();
        return s;
    }

    const kernels::PackedWeights* data() const { return bytes_.data(); }

private:
    static constexpr kernels::PackedWeights sentinel{0x5a};
    const Backend& backend_;
    std::size_t m_, n_;
    base::SecretBuffer<kernels::PackedWeights> bytes_;  // aligned to 64
};

}  // namespace slip::kernel_tests
