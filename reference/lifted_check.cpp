#include "reference/lifted_check.hpp"

#include "reference/error.hpp"

namespace slip::reference {

namespace {

void require_below(const Integer& bound, const Matrix& X) {
    const Ring ring(bound);
    for (std::size_t j = 0; j < X.cols(); ++j) ring.require_elements(X.column(j));
}

}  // namespace

Matrix draw_lifted_rho(const LiftedWidths& widths, const Key& key, std::uint64_t group,
                       std::size_t M, std::size_t kappa) {
    require(widths.e >= 1 && widths.sigma >= 1, "both widths are at least one bit");
    require(M >= 1 && kappa >= 1, "the check has at least one row and one repetition");
    const Vector residues = uniform_residues(Ring(Integer(1) << widths.sigma), key,
                                             Purpose::integrity, group, M * kappa);
    Matrix rho(M, kappa);
    for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t l = 0; l < kappa; ++l) rho(i, l) = residues[i * kappa + l];
    }
    return rho;
}

Matrix precompute_lifted_s(const LiftedWidths& widths, const Matrix& rho, const Matrix& W_D) {
    return Ring(widths.modulus()).embed(W_D.transpose() * rho);
}

bool lifted_accepts(const LiftedWidths& widths, const LiftedKey& secret, const Matrix& x_masked,
                    const Matrix& y) {
    require(secret.rho.rows() == y.rows() && secret.s.rows() == x_masked.rows() &&
                secret.rho.cols() == secret.s.cols() && x_masked.cols() == y.cols(),
            "rho is M x kappa, s is n x kappa, x~ is n x b, y is M x b");
    require_below(widths.modulus(), x_masked);
    require_below(widths.modulus(), y);
    require_below(Integer(1) << widths.sigma, secret.rho);
    const Ring ring(widths.modulus());
    return ring.embed(secret.rho.transpose() * y) == ring.embed(secret.s.transpose() * x_masked);
}

Vector lifted_unmask(const LiftedWidths& widths, const Vector& y_masked, const Vector& c) {
    const Ring low(Integer(1) << widths.e);
    return low.lift(low.embed(Ring(widths.modulus()).subtract(y_masked, c)));
}

}  // namespace slip::reference
