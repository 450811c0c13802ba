// INSECURE, for demonstration only.
#include "reference/insecure/unchecked.hpp"

#include <utility>

#include "reference/error.hpp"
#include "reference/linear.hpp"
#include "reference/parameters.hpp"

namespace slip::reference::insecure {

UncheckedModel::UncheckedModel(Planes planes, IntegerModel first, IntegerModel second,
                               const Key& key)
    : planes_(std::move(planes)),
      first_(std::move(first)),
      second_(std::move(second)),
      masks_(planes_, key) {
    require(second_.W_D.cols() == first_.W_D.rows(), "W_2 takes the outputs of W_1");
}

Vector UncheckedModel::masked_product(const IntegerModel& weight, const Vector& q,
                                      const Vector& error) {
    const Ring& ring = planes_.ring();
    OneTimeMask mask = masks_.draw(weight.W_D);
    const Vector x_masked = mask.mask(ring, q);
    const Vector reply = ring.add(ring.multiply(weight.W_D, x_masked), ring.embed(error));
    const Vector y_D = mask.unmask(ring, reply);  // INSECURE: unmasked and used unchecked
    return charlies_output(weight.A, weight.B, q, y_D);
}

Vector UncheckedModel::infer(const Vector& q, const Vector& error) {
    ++queries_;
    Vector h = masked_product(first_, q, error);
    for (Integer& entry : h) {
        if (entry < 0) entry = 0;
    }
    return masked_product(second_, h, Vector(second_.W_D.rows(), Integer(0)));
}

Matrix recover_by_errors(const Oracle& oracle, std::size_t rows, std::size_t columns,
                         const Integer& shift) {  // E-3
    const Vector base(columns, shift);
    const Vector f_0 = oracle(base);
    Matrix W(rows, columns);
    for (std::size_t j = 0; j < columns; ++j) {
        Vector error = base;
        ++error[j];
        const Vector f_j = oracle(error);
        for (std::size_t i = 0; i < rows; ++i) W(i, j) = (f_j[i] - f_0[i]) >> fraction_bits;
    }
    return W;
}

}  // namespace slip::reference::insecure
