// What tests of products share: random groups of weights, columns and residues, in the types of
// both implementations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "optimized/base/parameters.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "property_tests/generators/values.hpp"
#include "reference/convolution.hpp"
#include "reference/integer.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::testing {

using Random = std::mt19937_64;
using Bytes = std::vector<std::byte>;

/// The bytes of residues, as they lie in memory and on the wire: byte (c * planes + p) * n + j.
using Residues = std::vector<std::uint8_t>;
using Products = std::vector<std::int64_t>;

/// RING-5, written once more.
inline constexpr std::array<std::uint8_t, 7> primes{251, 241, 239, 233, 229, 227, 223};

/// L, the product of the first `planes` primes: below 2^55.
inline std::uint64_t modulus(std::size_t planes) {
    std::uint64_t product = 1;
    for (std::size_t p = 0; p < planes; ++p) product *= primes[p];
    return product;
}
inline reference::Ring ring(std::size_t planes) { return reference::Ring(modulus(planes)); }

/// The set `paper`, or one like it with other planes.
inline base::parameters::ParameterSet set_of(std::size_t planes) {
    return {"paper", 1, planes, std::nullopt};
}
inline constexpr std::size_t paper_planes = 4;

/// A vector over Z with the values of `values`.
template <class Range>
reference::Vector to_reference(const Range& values) {
    return reference::Vector(std::begin(values), std::end(values));
}

template <class T>
reference::Matrix to_reference(base::MatrixView<const T> view) {
    reference::Matrix result(view.rows(), view.cols());
    for (std::size_t i = 0; i < view.rows(); ++i) {
        for (std::size_t j = 0; j < view.cols(); ++j) result(i, j) = view.row(i)[j];
    }
    return result;
}

inline reference::Matrix to_reference(const kernels::GroupWeights& w) {
    return to_reference(base::MatrixView<const std::int8_t>(w));
}

/// The b columns of a message, which optimized/ stores as b rows, as a matrix with b columns.
template <class T>
reference::Matrix columns_to_reference(base::MatrixView<const T> columns) {
    return to_reference(columns).transpose();
}

/// The b columns of n residues that these bytes are, n x b in 0 .. L - 1.
inline reference::Matrix residues_to_reference(std::span<const std::uint8_t> bytes, std::size_t b,
                                               std::size_t planes) {
    const std::size_t n = bytes.size() / (b * planes);
    reference::Matrix result(n, b);
    for (std::size_t c = 0; c < b; ++c) {
        for (std::size_t j = 0; j < n; ++j) {
            // The one residue that has these remainders: plane after plane, a multiple of the
            // product of the earlier primes is added until the remainder is right.
            std::uint64_t residue = 0;
            for (std::size_t p = 0; p < planes; ++p) {
                const std::uint8_t wanted = bytes[(c * planes + p) * n + j];
                EXPECT_LT(wanted, primes[p]);
                for (unsigned k = 0; k < primes[p] && residue % primes[p] != wanted; ++k) {
                    residue += modulus(p);
                }
            }
            result(j, c) = residue;
        }
    }
    return result;
}

/// The other way round.
inline Residues residues_from_reference(const reference::Matrix& residues, std::size_t planes) {
    Residues bytes;
    for (std::size_t c = 0; c < residues.cols(); ++c) {
        for (std::size_t p = 0; p < planes; ++p) {
            for (std::size_t j = 0; j < residues.rows(); ++j) {
                bytes.push_back(static_cast<std::uint8_t>(
                    residues(j, c).convert_to<std::uint64_t>() % primes[p]));
            }
        }
    }
    return bytes;
}

using Shape = base::ProductShape;

inline Shape shape_of(const base::Convolution& convolution) {
    return {convolution.N, convolution.patch(), convolution};
}

inline reference::ConvolutionShape to_reference(const base::Convolution& shape) {
    return {shape.H, shape.W, shape.C, shape.kH, shape.kW, shape.N, shape.stride, shape.padding};
}

/// The reference's key of these bytes.
inline reference::Key to_key(std::span<const std::uint8_t> bytes) {
    reference::Key key{};
    std::copy(bytes.begin(), bytes.end(), key.begin());
    return key;
}

/// 0, 1, ..., 31: a key whose stream is known.
inline std::vector<std::uint8_t> counting_key(std::uint8_t first = 0) {
    std::vector<std::uint8_t> key(32);
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(first + i);
    return key;
}

/// WeightGroups of these shapes on the weights of `storage`, and the matrices that they are.
struct WeightGroups {
    WeightGroups(const std::vector<Shape>& shapes, std::vector<std::vector<std::int8_t>> weights)
        : storage(std::move(weights)) {
        for (std::size_t i = 0; i < shapes.size(); ++i) {
            const Shape& shape = shapes[i];
            const base::MatrixView<const std::int8_t> w(storage[i].data(), shape.rows, shape.n);
            if (shape.convolution) {
                offloaded.emplace_back(w, *shape.convolution);
                matrices.push_back(dense_matrix(to_reference(*shape.convolution), to_reference(w)));
            } else {
                offloaded.emplace_back(w);
                matrices.push_back(to_reference(w));
            }
        }
    }
    WeightGroups(const std::vector<Shape>& shapes, Fill kind, std::uint64_t seed)
        : WeightGroups(shapes, filled(shapes, kind, seed)) {}

    static std::vector<std::vector<std::int8_t>> filled(const std::vector<Shape>& shapes, Fill kind,
                                                        std::uint64_t seed) {
        Random random(seed);
        std::vector<std::vector<std::int8_t>> weights;
        for (const Shape& shape : shapes) {
            weights.push_back(fill<std::int8_t>(kind, shape.rows * shape.n, -127, 127, random));
        }
        return weights;
    }

    std::vector<std::vector<std::int8_t>> storage;
    kernels::OffloadedWeights offloaded;
    /// The dense matrix in the place of a convolution (CNN-2), of which all is expected that holds
    /// for a matrix.
    std::vector<reference::Matrix> matrices;
};

/// Weights for groups of these shapes, drawn within a property.
inline std::vector<std::vector<std::int8_t>> drawn_weights(const std::vector<Shape>& shapes) {
    std::vector<std::vector<std::int8_t>> weights;
    for (const Shape& shape : shapes) {
        weights.push_back(*any_list<std::int8_t>(shape.rows * shape.n, -127, 127).as("W_D"));
    }
    return weights;
}

/// The set, or others of one to seven planes, drawn within a property.
inline std::size_t drawn_planes() {
    return *rc::gen::element<std::size_t>(4, 1, 2, 3, 5, 6, 7).as("planes");
}

/// An activation such that columns of no larger ones give products that can be lifted.
inline std::int16_t largest_activation(const reference::Matrix& w, std::size_t planes) {
    const reference::Integer norm = largest_row_norm(w);
    const reference::Integer bound = (modulus(planes) - 1) / 2;
    const reference::Integer most = norm == 0 ? reference::Integer(32767) : bound / norm;
    return most > 32767 ? std::int16_t{32767} : most.convert_to<std::int16_t>();
}

/// b quantised columns of n elements, one after the other.
struct Columns {
    Columns(std::size_t b, std::size_t height, std::vector<std::int16_t> values)
        : n(height), count(b), q(std::move(values)) {}
    base::MatrixView<const std::int16_t> view() const { return {q.data(), count, n}; }

    std::size_t n;
    std::size_t count;
    std::vector<std::int16_t> q;
};

inline Columns random_columns(const reference::Matrix& w, std::size_t b, Fill kind, Random& random,
                              std::size_t planes = paper_planes) {
    const std::int16_t most = largest_activation(w, planes);
    return {b, w.cols(),
            fill<std::int16_t>(kind, b * w.cols(), static_cast<std::int16_t>(-most), most, random)};
}

/// The same, drawn within a property.
inline Columns drawn_columns(const reference::Matrix& w, std::size_t b,
                             std::size_t planes = paper_planes) {
    const std::int16_t most = largest_activation(w, planes);
    const auto least = static_cast<std::int16_t>(-most);
    return {b, w.cols(), *any_list<std::int16_t>(b * w.cols(), least, most).as("q")};
}

/// b columns of n residues, drawn within a property.
inline Residues drawn_residues(std::size_t b, std::size_t n, std::size_t planes) {
    Residues residues;
    for (std::size_t i = 0; i < b * planes; ++i) {
        const std::uint8_t p = primes[i % planes];
        const auto plane = *any_list<std::uint8_t>(n, 0, static_cast<std::uint8_t>(p - 1),
                                                   {0, 1, static_cast<std::uint8_t>(p - 1),
                                                    static_cast<std::uint8_t>(p / 2)})
                                .as("a plane of residues");
        residues.insert(residues.end(), plane.begin(), plane.end());
    }
    return residues;
}

/// The same, uniform.
inline Residues random_residues(std::size_t b, std::size_t n, std::size_t planes, Random& random) {
    Residues residues;
    for (std::size_t i = 0; i < b * planes * n; ++i) {
        const std::uint8_t p = primes[i / n % planes];
        residues.push_back(uniform<std::uint8_t>(random, 0, static_cast<std::uint8_t>(p - 1)));
    }
    return residues;
}

/// W q over Z, by the definition, in the order of round()'s result.
inline reference::Vector exact_products(const reference::Matrix& w, const Columns& columns) {
    const reference::Matrix product = w * columns_to_reference(columns.view());
    reference::Vector result;
    for (std::size_t c = 0; c < product.cols(); ++c) {
        const reference::Vector column = product.column(c);
        result.insert(result.end(), column.begin(), column.end());
    }
    return result;
}

}  // namespace slip::testing
