#include "reference/integrity.hpp"

#include <NTL/ZZ_p.h>
#include <NTL/mat_ZZ_p.h>

#include <iterator>

#include "reference/error.hpp"

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

/// While it lives, F_p is the current field of NTL.
class Field {
public:
    explicit Field(const Integer& p) : push_(checked(p)) {}

private:
    static NTL::ZZ checked(const Integer& p) {
        require(p >= 2, "a modulus is at least 2");
        const NTL::ZZ modulus = to_ZZ(p);
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

/// w is M x kappa, s is n x kappa, x~ is n x b, y is M x b.
void require_shapes(const IntegrityKey& secret, const Matrix& x_masked, const Matrix& y) {
    require(secret.w.rows() == y.rows() && secret.s.rows() == x_masked.rows() &&
                secret.w.cols() == secret.s.cols() && x_masked.cols() == y.cols(),
            "w is M x kappa, s is n x kappa, x~ is n x b, y is M x b");
}

void require_canonical(const Integer& p, const Matrix& X) {
    const Ring ring(p);
    for (std::size_t j = 0; j < X.cols(); ++j) ring.require_elements(X.column(j));
}

}  // namespace

Matrix draw_combinations(const Integer& p, const Key& seed, std::size_t plane, std::size_t M,
                         std::size_t kappa) {  // INTEG-1
    const Field field(p);
    require(M >= 1 && kappa >= 1, "the check has at least one row and one combination");
    std::vector<Vector> combinations;
    for (std::size_t a = 0; a < kappa; ++a) {
        combinations.push_back(uniform_residues(Ring(p), seed, Purpose::integrity, a, M, plane));
    }
    return Matrix::from_columns(M, combinations);
}

Matrix precompute_s(const Integer& p, const Matrix& w, const Matrix& W_D) {  // INTEG-2
    const Field field(p);
    require(w.rows() == W_D.rows(), "w has as many rows as W_D");
    const NTL::mat_ZZ_p s_transposed = NTL::transpose(over_field(w)) * over_field(W_D);
    return representatives(NTL::transpose(s_transposed));
}

CheckSecret draw_check_secret(const Planes& planes, const Key& seed, const Matrix& W_D,
                              std::size_t kappa) {
    CheckSecret secret;
    for (std::size_t plane = 0; plane < planes.count(); ++plane) {
        const Integer& p = planes.primes()[plane];
        Matrix w = draw_combinations(p, seed, plane, W_D.rows(), kappa);
        Matrix s = precompute_s(p, w, W_D);
        secret.push_back({std::move(w), std::move(s)});
    }
    return secret;
}

bool accepts(const Integer& p, const IntegrityKey& secret, const Matrix& x_masked,
             const Matrix& y) {  // INTEG-3
    const Field field(p);
    require_shapes(secret, x_masked, y);
    require_canonical(p, x_masked);
    require_canonical(p, y);
    const NTL::mat_ZZ_p from_reply = NTL::transpose(over_field(secret.w)) * over_field(y);
    const NTL::mat_ZZ_p expected = NTL::transpose(over_field(secret.s)) * over_field(x_masked);
    return from_reply == expected;
}

bool accepts(const Planes& planes, const CheckSecret& secret, const Matrix& x_masked,
             const Matrix& y) {  // INTEG-3
    require(secret.size() == planes.count(), "the check has one secret per plane");
    bool accepted = true;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        accepted &=
            accepts(planes.primes()[p], secret[p], planes.plane(p, x_masked), planes.plane(p, y));
    }
    return accepted;
}

Rational acceptance_probability(const Planes& planes, const Matrix& E,
                                std::size_t kappa) {  // INTEG-4
    require(kappa >= 1, "the check has at least one combination");
    Integer keys_per_accepting_key = 1;
    for (std::size_t plane = 0; plane < planes.count(); ++plane) {
        const Integer& p = planes.primes()[plane];
        const Field field(p);
        NTL::mat_ZZ_p echelon = over_field(planes.plane(plane, E));
        const auto rank = static_cast<std::size_t>(NTL::gauss(echelon));
        keys_per_accepting_key *= pow(p, static_cast<unsigned>(kappa * rank));
    }
    return Rational(1, keys_per_accepting_key);
}

}  // namespace slip::reference
