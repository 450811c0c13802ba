#include "reference/product_check.hpp"

#include "reference/error.hpp"

namespace slip::reference {

namespace {

Integer inner_product(const Vector& a, const Vector& b) {
    require(a.size() == b.size(), "an inner product needs two vectors of one length");
    Integer sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
    return sum;
}

}  // namespace

ProductCheck draw_product_check(const Key& seed, const Matrix& W_D) {  // MASK-10
    const Ring field(product_modulus);
    Vector z = uniform_residues(field, seed, Purpose::product_check, 0, W_D.rows());
    Vector zW = field.embed(W_D.transpose() * z);
    return {std::move(z), std::move(zW)};
}

bool holds(const ProductCheck& check, const Vector& q, const Vector& y_D) {  // MASK-10
    return Ring(product_modulus).embed(inner_product(check.z, y_D) - inner_product(check.zW, q)) ==
           0;
}

}  // namespace slip::reference
