// Charlie's left factor as the artifact stores it, in the type of the reference.
#pragma once

#include <cstddef>

#include "optimized/artifact/integer_model.hpp"
#include "reference/integer.hpp"

namespace slip::testing {

/// A, m x k, with the exponents of its rows multiplied in (PARAM-2).
inline reference::Matrix matrix_of(const artifact::LeftFactor& a) {
    reference::Matrix A(a.significands.rows(), a.significands.cols());
    for (std::size_t i = 0; i < A.rows(); ++i) {
        for (std::size_t c = 0; c < A.cols(); ++c) A(i, c) = a(i, c);
    }
    return A;
}

}  // namespace slip::testing
