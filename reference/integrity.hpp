// Ensuring integrity by probabilistic verification (the paper's Section
// `sec:integrity_by_prob_verification`; the check is Freivalds').
//
//     offline   rho uniform in F_L^(M x kappa),  s^T = rho^T W_D
//     online    accept y iff rho^T y = s^T x~, for every column x~ -> y of a message
//
// The paper says "finite field" and computes mod L; the two agree for prime L only, so only prime
// L is taken here. The arithmetic of this file is NTL's, independent of the rest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/integer.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// The secrets of the check of one group in one session.
struct IntegrityKey {
    Matrix rho;  ///< M x kappa, entries in 0..L-1
    Matrix s;    ///< n x kappa

    friend bool operator==(const IntegrityKey&, const IntegrityKey&) = default;
};

/// INTEG-1. rho, uniform in F_L^(M x kappa): the stream (Tag::integrity, group), row by row.
/// Errors: L not prime, M = 0 or kappa = 0.
Matrix draw_rho(const Integer& L, const Key& key, std::uint64_t group, std::size_t M,
                std::size_t kappa);

/// INTEG-2. s (n x kappa) with s^T = rho^T W_D mod L, for W_D in Z^(M x n); computed ahead of use.
/// Errors: L not prime, shapes that do not fit.
Matrix precompute_s(const Integer& L, const Matrix& rho, const Matrix& W_D);

/// INTEG-1 and INTEG-2 together.
IntegrityKey draw_integrity_key(const Integer& L, const Key& key, std::uint64_t group,
                                const Matrix& W_D, std::size_t kappa);

/// INTEG-3. Whether rho^T y = s^T x~ mod L: all kappa repetitions and all b columns, one verdict.
///
/// @param x_masked n x b, what was sent, entries in 0..L-1
/// @param y        M x b, what came back, entries in 0..L-1
///
/// An honest y = W_D x~ is accepted: rho^T y = rho^T W_D x~ = s^T x~.
/// Errors: L not prime, shapes that do not fit, an entry outside 0..L-1.
bool accepts(const Integer& L, const IntegrityKey& secret, const Matrix& x_masked, const Matrix& y);

/// INTEG-4. How many rho in F_L^(M x kappa) accept y = W_D x~ + e, for any fixed e != 0 in F_L^M:
/// L^(M kappa) / L^kappa = L^((M - 1) kappa).
///
/// Such a rho is one with rho^T e = 0. The map rho |-> rho^T e, F_L^(M x kappa) -> F_L^kappa, is
/// linear, and onto because e has an invertible entry; so its kernel is a fraction L^-kappa.
/// Hence a uniform and secret rho accepts a wrong column with probability exactly L^-kappa.
Integer accepting_keys(const Integer& L, std::size_t M, std::size_t kappa);

// The lifted variant, for moduli that are powers of two. It is not part of protocol version 1.

/// INTEG-9. Its widths: values of e bits are authenticated with an error of at most 2^-sigma for
/// each repetition, and masks, messages and products live in Z_(2^(e + sigma)).
struct LiftedWidths {
    unsigned e;
    unsigned sigma;

    Integer modulus() const { return Integer(1) << (e + sigma); }
};

/// INTEG-9. rho, uniform in {0, ..., 2^sigma - 1}^(M x kappa), from the stream of INTEG-1.
/// Errors: e = 0, sigma = 0, M = 0, kappa = 0.
Matrix draw_lifted_rho(const LiftedWidths& widths, const Key& key, std::uint64_t group,
                       std::size_t M, std::size_t kappa);

/// INTEG-9. s (n x kappa) with s^T = rho^T W_D mod 2^(e + sigma). Error: shapes that do not fit.
Matrix precompute_lifted_s(const LiftedWidths& widths, const Matrix& rho, const Matrix& W_D);

/// INTEG-9. Whether rho^T y = s^T x~ mod 2^(e + sigma), for all columns: one verdict.
/// Errors: shapes that do not fit, entries outside 0..2^(e + sigma) - 1, an entry of rho >=
/// 2^sigma.
bool lifted_accepts(const LiftedWidths& widths, const IntegrityKey& secret, const Matrix& x_masked,
                    const Matrix& y);

/// INTEG-9. Unmasking keeps the authenticated bits only: lift((y~ - c) mod 2^e), the centred
/// representative mod 2^e. Error: lengths differ.
Vector lifted_unmask(const LiftedWidths& widths, const Vector& y_masked, const Vector& c);

}  // namespace slip::reference
