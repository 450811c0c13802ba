// The self-check of products (MASK-10): Charlie's own arithmetic and files, checked before a
// product is used. David's reply was checked before (INTEG-3); this finds a wrong H, a wrong
// transform, a bit that flipped.
#pragma once

#include "reference/integer.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// MASK-10. The modulus of the check, the Mersenne prime 2^61 - 1.
inline const Integer product_modulus = (Integer(1) << 61) - 1;

/// MASK-10. A secret z in F^M and z W_D in F^n, for F the integers mod 2^61 - 1.
struct ProductCheck {
    Vector z;
    Vector zW;
};

/// MASK-10. z is the first M outputs of the stream (plane 0, purpose product_check, index 0) under
/// `seed`, sampled mod 2^61 - 1. Every group has a prefix of the same stream.
ProductCheck draw_product_check(const Key& seed, const Matrix& W_D);

/// MASK-10. Whether z y_D = (z W_D) q mod 2^61 - 1. True for y_D = W_D q; for an error of y_D that
/// is not 0 mod 2^61 - 1 it is true for one z in 2^61 - 1. Error: shapes that do not fit.
bool holds(const ProductCheck& check, const Vector& q, const Vector& y_D);

}  // namespace slip::reference
