#include "reference/integrity.hpp"

#include <NTL/ZZ_p.h>
#include <NTL/mat_ZZ_p.h>

#include <iterator>

#include "reference/error.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

namespace {

NTL::ZZ to_ZZ(const Integer& v) {
    const Integer absolute = abs(v);
    Bytes magnitude;
    export_bits(absolute, std::back_inserter(magnitude), 8, false);
    const NTL::ZZ z = NTL::ZZFromBytes(magnitude.data(), static_cast<long>(magnitude.size()));
    return v < 0 ? -z : z;
}

Integer to_Integer(const NTL::ZZ& z) {
    Bytes magnitude(static_cast<std::size_t>(NTL::NumBytes(z)));
    NTL::BytesFromZZ(magnitude.data(), z, static_cast<long>(magnitude.size()));
    return little_endian(magnitude);
}

/// While it lives, F_L is the current field of NTL.
class Field {
public:
    explicit Field(const Integer& L) : push_(checked(L)) {}

private:
    static NTL::ZZ checked(const Integer& L) {
        require(L >= 2, "a modulus is at least 2");
        const NTL::ZZ modulus = to_ZZ(L);
        require(NTL::ProbPrime(modulus) != 0, "the integrity check needs a prime modulus");
        return modulus;
    }

    NTL::ZZ_pPush push_;
};

/// The matrix over the current field with the classes of the entries of X.
NTL::mat_ZZ_p over_field(const Matrix& X) {
    NTL::mat_ZZ_p result;
    result.SetDims(static_cast<long>(X.rows()), static_cast<long>(X.cols()));
    for (std::size_t i = 0; i < X.rows(); ++i) {
        for (std::size_t j = 0; j < X.cols(); ++j) {
            NTL::conv(result[static_cast<long>(i)][static_cast<long>(j)], to_ZZ(X(i, j)));
        }
    }
    return result;
}

/// The matrix of canonical representatives.
Matrix representatives(const NTL::mat_ZZ_p& X) {
    Matrix result(static_cast<std::size_t>(X.NumRows()), static_cast<std::size_t>(X.NumCols()));
    for (long i = 0; i < X.NumRows(); ++i) {
        for (long j = 0; j < X.NumCols(); ++j) {
            result(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) =
                to_Integer(NTL::rep(X[i][j]));
        }
    }
    return result;
}

/// M x kappa residues mod `bound`, row by row, from the stream (Tag::integrity, group).
Matrix uniform_matrix(const Integer& bound, const Key& key, std::uint64_t group, std::size_t M,
                      std::size_t kappa) {
    require(M >= 1 && kappa >= 1, "the check has at least one row and one repetition");
    const Vector residues = uniform_residues(Ring(bound), key, Tag::integrity, group, M * kappa);
    Matrix rho(M, kappa);
    for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t l = 0; l < kappa; ++l) rho(i, l) = residues[i * kappa + l];
    }
    return rho;
}

/// rho is M x kappa, s is n x kappa, x~ is n x b, y is M x b.
void require_shapes(const IntegrityKey& secret, const Matrix& x_masked, const Matrix& y) {
    require(secret.rho.rows() == y.rows() && secret.s.rows() == x_masked.rows() &&
                secret.rho.cols() == secret.s.cols() && x_masked.cols() == y.cols(),
            "rho is M x kappa, s is n x kappa, x~ is n x b, y is M x b");
}

void require_canonical(const Integer& L, const Matrix& X) {
    const Ring ring(L);
    for (std::size_t j = 0; j < X.cols(); ++j) ring.require_elements(X.column(j));
}

}  // namespace

Matrix draw_rho(const Integer& L, const Key& key, std::uint64_t group, std::size_t M,
                std::size_t kappa) {  // INTEG-1
    const Field field(L);
    return uniform_matrix(L, key, group, M, kappa);
}

Matrix precompute_s(const Integer& L, const Matrix& rho, const Matrix& W_D) {  // INTEG-2
    const Field field(L);
    require(rho.rows() == W_D.rows(), "rho has as many rows as W_D");
    const NTL::mat_ZZ_p s_transposed = NTL::transpose(over_field(rho)) * over_field(W_D);
    return representatives(NTL::transpose(s_transposed));
}

IntegrityKey draw_integrity_key(const Integer& L, const Key& key, std::uint64_t group,
                                const Matrix& W_D, std::size_t kappa) {
    Matrix rho = draw_rho(L, key, group, W_D.rows(), kappa);
    Matrix s = precompute_s(L, rho, W_D);
    return {std::move(rho), std::move(s)};
}

bool accepts(const Integer& L, const IntegrityKey& secret, const Matrix& x_masked,
             const Matrix& y) {  // INTEG-3
    const Field field(L);
    require_shapes(secret, x_masked, y);
    require_canonical(L, x_masked);
    require_canonical(L, y);
    const NTL::mat_ZZ_p from_reply = NTL::transpose(over_field(secret.rho)) * over_field(y);
    const NTL::mat_ZZ_p expected = NTL::transpose(over_field(secret.s)) * over_field(x_masked);
    return from_reply == expected;
}

Integer accepting_keys(const Integer& L, std::size_t M, std::size_t kappa) {  // INTEG-4
    require(M >= 1 && kappa >= 1, "the check has at least one row and one repetition");
    return pow(L, static_cast<unsigned>((M - 1) * kappa));
}

Matrix draw_lifted_rho(const LiftedWidths& widths, const Key& key, std::uint64_t group,
                       std::size_t M, std::size_t kappa) {  // INTEG-9
    require(widths.e >= 1 && widths.sigma >= 1, "both widths are at least one bit");
    return uniform_matrix(Integer(1) << widths.sigma, key, group, M, kappa);
}

Matrix precompute_lifted_s(const LiftedWidths& widths, const Matrix& rho,
                           const Matrix& W_D) {  // INTEG-9
    return Ring(widths.modulus()).embed(W_D.transpose() * rho);
}

bool lifted_accepts(const LiftedWidths& widths, const IntegrityKey& secret, const Matrix& x_masked,
                    const Matrix& y) {  // INTEG-9
    require_shapes(secret, x_masked, y);
    require_canonical(widths.modulus(), x_masked);
    require_canonical(widths.modulus(), y);
    require_canonical(Integer(1) << widths.sigma, secret.rho);
    const Ring ring(widths.modulus());
    return ring.embed(secret.rho.transpose() * y) == ring.embed(secret.s.transpose() * x_masked);
}

Vector lifted_unmask(const LiftedWidths& widths, const Vector& y_masked,
                     const Vector& c) {  // INTEG-9
    const Ring low(Integer(1) << widths.e);
    return low.lift(low.embed(Ring(widths.modulus()).subtract(y_masked, c)));
}

}  // namespace slip::reference
