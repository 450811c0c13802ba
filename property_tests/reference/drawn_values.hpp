// Matrices, keys and tokens, drawn within a property.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/integer.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// m x n, entries in -bound .. bound.
inline Matrix any_matrix(std::size_t m, std::size_t n, int bound) {
    Matrix X(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) X(i, j) = *rc::gen::inRange(-bound, bound + 1);
    }
    return X;
}

/// PARAM-2: A, m x k. Rows of 12 bits, each with an exponent.
inline Matrix any_left_factor(std::size_t m, std::size_t k) {
    Matrix A = any_matrix(m, k, 2047);
    for (std::size_t i = 0; i < m; ++i) {
        const Integer unit = Integer(1) << *rc::gen::inRange(0, 21);
        for (std::size_t c = 0; c < k; ++c) A(i, c) *= unit;
    }
    return A;
}

inline Key any_key() {
    Key key{};
    for (std::uint8_t& byte : key) byte = *rc::gen::arbitrary<std::uint8_t>();
    return key;
}

/// `count` activations of n elements.
inline std::vector<std::vector<float>> any_tokens(std::size_t count, std::size_t n) {
    std::vector<std::vector<float>> tokens(count, std::vector<float>(n));
    for (std::vector<float>& token : tokens) {
        for (float& x : token) x = static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 64.0F;
    }
    return tokens;
}

}  // namespace slip::reference
