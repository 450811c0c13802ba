#include "reference/integer_model.hpp"

#include <algorithm>
#include <cmath>

#include "reference/error.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {

namespace {

bool entries_within(const Matrix& X, const Integer& bound) {
    for (std::size_t i = 0; i < X.rows(); ++i) {
        for (std::size_t j = 0; j < X.cols(); ++j) {
            if (abs(X(i, j)) > bound) return false;
        }
    }
    return true;
}

/// A row of A has 12 bits and an exponent.
bool row_has_12_bits(const Matrix& A, std::size_t i) {
    const unsigned exponent = row_exponent(A, i);
    const Integer unit = Integer(1) << exponent;
    for (std::size_t c = 0; c < A.cols(); ++c) {
        if (A(i, c) % unit != 0) return false;
    }
    return exponent <= largest_row_exponent;
}

}  // namespace

unsigned row_exponent(const Matrix& A, std::size_t i) {  // PARAM-2
    Integer largest = 0;
    for (std::size_t c = 0; c < A.cols(); ++c) largest = std::max<Integer>(largest, abs(A(i, c)));
    unsigned exponent = 0;
    while (largest > Integer(largest_significand) << exponent) ++exponent;
    return exponent;
}

void require_valid(const IntegerModel& model) {  // PARAM-2
    require(model.A.rows() == model.W_D.rows() && model.B.cols() == model.W_D.cols() &&
                model.A.cols() == model.B.rows() && model.row_scale.size() == model.W_D.rows(),
            "A is m x k, B is k x n, W_D is m x n, and there are m row scales");
    for (std::size_t i = 0; i < model.A.rows(); ++i) {
        require(row_has_12_bits(model.A, i), "a row of A is 2^e times entries of 12 bits, e <= 20");
    }
    require(entries_within(model.B, largest_right_factor), "an entry of B fits 2047");
    require(entries_within(model.W_D, largest_weight), "an entry of W_D fits 127");
    for (float scale : model.row_scale) {
        require(std::isfinite(scale) && scale > 0, "a row scale is positive and finite");
    }
}

Matrix charlies_weights(const IntegerModel& model) { return model.A * model.B; }  // DECO-1

Matrix integer_weights(const IntegerModel& model) {  // DECO-1
    return (Integer(1) << fraction_bits) * model.W_D + charlies_weights(model);
}

}  // namespace slip::reference
