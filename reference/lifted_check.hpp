// E-2. The check for moduli that are powers of two. No set of parameters uses it.
//
//     rho uniform in {0, ..., 2^sigma - 1}^(M x kappa),  s^T = rho^T W_D mod 2^(e + sigma)
//     accept iff rho^T y = s^T x~ mod 2^(e + sigma);  only the low e bits are authenticated
#pragma once

#include "reference/planes.hpp"

namespace slip::reference {

/// Values of e bits are authenticated with an error of at most 2^-sigma for each repetition, and
/// masks, messages and products live in Z_(2^(e + sigma)).
struct LiftedWidths {
    unsigned e;
    unsigned sigma;

    Integer modulus() const { return Integer(1) << (e + sigma); }
};

/// The secrets of one group.
struct LiftedKey {
    Matrix rho;  ///< M x kappa, entries in 0..2^sigma - 1
    Matrix s;    ///< n x kappa
};

/// rho, uniform in {0, ..., 2^sigma - 1}^(M x kappa), row by row from the stream (0,
/// Purpose::integrity, group). Errors: e = 0, sigma = 0, M = 0, kappa = 0.
Matrix draw_lifted_rho(const LiftedWidths& widths, const Key& key, std::uint64_t group,
                       std::size_t M, std::size_t kappa);

/// s (n x kappa) with s^T = rho^T W_D mod 2^(e + sigma). Error: shapes that do not fit.
Matrix precompute_lifted_s(const LiftedWidths& widths, const Matrix& rho, const Matrix& W_D);

/// Whether rho^T y = s^T x~ mod 2^(e + sigma), for all columns: one verdict.
/// Errors: shapes that do not fit, entries outside 0..2^(e + sigma) - 1, an entry of rho >=
/// 2^sigma.
bool lifted_accepts(const LiftedWidths& widths, const LiftedKey& secret, const Matrix& x_masked,
                    const Matrix& y);

/// Unmasking keeps the authenticated bits only: lift((y~ - c) mod 2^e), the centred representative
/// mod 2^e. Error: lengths differ.
Vector lifted_unmask(const LiftedWidths& widths, const Vector& y_masked, const Vector& c);

}  // namespace slip::reference
