// "Ensuring Integrity by Probabilistic Verification" (the paper's Section
// `sec:integrity_by_prob_verification`; the check is Freivalds').
//
//     once      w uniform in F_p^(M x kappa),  s^T = w^T W_D,  for every prime p of the modulus
//     online    accept y iff w^T y = s^T x~ in every F_p, for every column x~ -> y of a message
//
// The paper says "finite field" and computes mod L; the two agree for prime L only (E-2). Here the
// check is made in the prime fields of which Z_L is the product. The arithmetic of this file is
// NTL's, independent of the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/integer.hpp"
#include "reference/planes.hpp"

namespace slip::reference {

/// The secret of the check of one group in one field F_p.
struct IntegrityKey {
    Matrix w;  ///< M x kappa, entries in 0..p-1
    Matrix s;  ///< n x kappa

    friend bool operator==(const IntegrityKey&, const IntegrityKey&) = default;
};

/// The same in every field; index = plane.
using CheckSecret = std::vector<IntegrityKey>;

/// INTEG-1. w, uniform in F_p^(M x kappa): entry (i, a) is residue i of the stream (plane,
/// Purpose::integrity, a) under the seed. Groups with fewer rows have the first rows of it.
/// Errors: p not prime, M = 0 or kappa = 0.
Matrix draw_combinations(const Integer& p, const Key& seed, std::size_t plane, std::size_t M,
                         std::size_t kappa);

/// INTEG-2. s (n x kappa) with s^T = w^T W_D in F_p, for W_D in Z^(M x n); computed once.
/// Errors: p not prime, shapes that do not fit.
Matrix precompute_s(const Integer& p, const Matrix& w, const Matrix& W_D);

/// INTEG-1 and INTEG-2 together, for every plane.
CheckSecret draw_check_secret(const Planes& planes, const Key& seed, const Matrix& W_D,
                              std::size_t kappa);

/// INTEG-3 in one field. Whether w^T y = s^T x~ in F_p: all kappa combinations and all b columns,
/// one verdict. (For L = p this is the paper's own check.)
///
/// @param x_masked n x b, what was sent, entries in 0..p-1
/// @param y        M x b, what came back, entries in 0..p-1
///
/// An honest y = W_D x~ is accepted: w^T y = w^T W_D x~ = s^T x~.
/// Errors: p not prime, shapes that do not fit, an entry outside 0..p-1.
bool accepts(const Integer& p, const IntegrityKey& secret, const Matrix& x_masked, const Matrix& y);

/// INTEG-3. Whether the check holds in every field, for x~ and y with entries in 0..L-1.
/// Errors: not one secret per plane, and those of the check in one field.
bool accepts(const Planes& planes, const CheckSecret& secret, const Matrix& x_masked,
             const Matrix& y);

/// INTEG-4. The probability over uniform w that y = W_D x~ + E is accepted, for a fixed M x b error
/// E mod L: prod_p p^(-kappa rank_p), with rank_p the rank of E over F_p.
///
/// In F_p one combination accepts iff w^T E = 0, which holds for w in a subspace of dimension M -
/// rank_p: a fraction p^-rank_p of all w. Combinations and planes are independent. A nonzero E is
/// nonzero in some plane, so that the probability is at most p_min^-kappa.
/// Errors: kappa = 0, an entry outside 0..L-1.
Rational acceptance_probability(const Planes& planes, const Matrix& E, std::size_t kappa);

}  // namespace slip::reference
