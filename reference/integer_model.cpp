#include "reference/integer_model.hpp"

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

}  // namespace

void require_valid(const IntegerModel& model) {  // PARAM-2
    require(model.A.rows() == model.W_D.rows() && model.B.cols() == model.W_D.cols() &&
                model.A.cols() == model.B.rows() && model.row_scale.size() == model.W_D.rows(),
            "A is m x k, B is k x n, W_D is m x n, and there are m row scales");
    require(entries_within(model.A, largest_left_factor), "an entry of A fits 2^31 - 1");
    require(entries_within(model.B, largest_right_factor), "an entry of B fits 32767");
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
