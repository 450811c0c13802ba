// INSECURE, for demonstration only: the naive hybrid inference of the paper's Section "Why naive
// hybrid inference leaks IP", and the attack on it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "reference/integer.hpp"

namespace slip::reference::insecure {

/// What David sees of one inference when nothing is masked: the input a and, since the next layer
/// gets it and sigma is invertible, the output b = W_C a + W_D a.
struct Observation {
    Vector a;  ///< n
    Vector b;  ///< m
};

/// INSECURE. One layer of the naive protocol: Charlie sends a itself, David returns W_D a, Charlie
/// adds W_C a. Returns what David has seen.
Observation naive_inference(const Matrix& W_C, const Matrix& W_D, const Vector& a);

/// DEF-7. The attack: with n linearly independent a, the equations W_C a = b - W_D a determine W_C.
/// Solves them over the rationals; nothing if they do not determine an integer matrix.
/// Error: shapes that do not fit.
std::optional<Matrix> recover_charlies_weights(const std::vector<Observation>& observations,
                                               const Matrix& W_D);

}  // namespace slip::reference::insecure
