// INSECURE, for demonstration only.
#include "reference/insecure/composite_modulus.hpp"

#include "reference/error.hpp"
#include "reference/ring.hpp"

namespace slip::reference::insecure {

namespace {

/// rho as a 1 x M matrix.
Matrix row(const Vector& rho) { return Matrix::from_columns(rho.size(), {rho}).transpose(); }

}  // namespace

bool accepts_mod_any(const Integer& L, const Vector& rho, const Matrix& W_D, const Vector& x_masked,
                     const Vector& y) {
    const Ring ring(L);
    ring.require_elements(rho);
    const Matrix s = ring.embed(row(rho) * W_D);
    return ring.multiply(row(rho), y) == ring.multiply(s, x_masked);
}

Integer smallest_prime_factor(const Integer& L) {
    require(L >= 2, "a modulus is at least 2");
    for (Integer p = 2; p * p <= L; ++p) {
        if (L % p == 0) return p;
    }
    return L;
}

Vector most_accepted_error(const Integer& L, std::size_t M) {  // E-2
    require(M >= 1, "an error has at least one row");
    Vector error(M, Integer(0));
    error.front() = L / smallest_prime_factor(L);
    return error;
}

}  // namespace slip::reference::insecure
