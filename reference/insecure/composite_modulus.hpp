// INSECURE, for demonstration only: the integrity check read literally, "mod L" for any L. For
// composite L a David who picks his error well passes far more often than with probability 1 / L.
#pragma once

#include "reference/integer.hpp"

namespace slip::reference::insecure {

/// INSECURE. One repetition of the check over Z_L, L >= 2 of any kind: rho^T y = s^T x~ mod L with
/// s^T = rho^T W_D. rho and y in Z_L^M, x~ in Z_L^n, W_D in Z^(M x n).
/// Errors: shapes that do not fit, entries outside 0..L-1.
bool accepts_mod_any(const Integer& L, const Vector& rho, const Matrix& W_D, const Vector& x_masked,
                     const Vector& y);

/// The smallest prime p that divides L >= 2.
Integer smallest_prime_factor(const Integer& L);

/// E-2. The error e = (L / p) e_1 in Z_L^M, p the smallest prime factor of L.
///
/// rho^T e = rho_1 L / p is 0 mod L exactly when p divides rho_1: a fraction 1 / p of all rho
/// accepts e, one half for L = 2^16, a third for L = 15; only for prime L is it 1 / L. No error
/// does better: rho |-> rho^T e is a homomorphism to Z_L with an image of more than one element,
/// whose size divides L and so is at least p.
Vector most_accepted_error(const Integer& L, std::size_t M);

}  // namespace slip::reference::insecure
