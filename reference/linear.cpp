#include "reference/linear.hpp"

#include "reference/error.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {

Matrix davids_product(const Ring& ring, const Matrix& W_D, const Matrix& x_masked) {  // LIN-1
    std::vector<Vector> columns;
    for (std::size_t t = 0; t < x_masked.cols(); ++t) {
        columns.push_back(ring.multiply(W_D, x_masked.column(t)));
    }
    return Matrix::from_columns(W_D.rows(), columns);
}

Matrix stack(const std::vector<Matrix>& members) {  // LIN-3
    require(!members.empty(), "a group has at least one member");
    std::size_t rows = 0;
    for (const Matrix& member : members) {
        require(member.cols() == members.front().cols(), "the members of a group share one input");
        rows += member.rows();
    }
    Matrix stacked(rows, members.front().cols());
    std::size_t first = 0;
    for (const Matrix& member : members) {
        for (std::size_t i = 0; i < member.rows(); ++i) {
            for (std::size_t j = 0; j < member.cols(); ++j) stacked(first + i, j) = member(i, j);
        }
        first += member.rows();
    }
    return stacked;
}

Vector charlies_output(const Matrix& A, const Matrix& B, const Vector& q,
                       const Vector& y_D) {  // LIN-2
    const Vector z = B * q;
    const Vector y_C = A * z;
    require(y_C.size() == y_D.size(), "David's part has as many rows as Charlie's");
    Vector y;
    for (std::size_t i = 0; i < y_C.size(); ++i) y.push_back((y_D[i] << fraction_bits) + y_C[i]);
    return y;
}

Vector charlies_output_64(const Matrix& A, const Matrix& B, const Vector& q,
                          const Vector& y_D) {  // DECO-7
    const Ring word(Integer(1) << 64);
    const Vector z = word.multiply(B, word.embed(q));
    const Vector y_C = word.multiply(A, z);
    Vector shifted;
    for (const Integer& y : y_D) shifted.push_back(word.embed(y << fraction_bits));
    return word.lift(word.add(shifted, y_C));
}

Vector unsplit_output(const IntegerModel& model, const Vector& q) {
    return integer_weights(model) * q;
}

}  // namespace slip::reference
