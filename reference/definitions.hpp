// The numbers in the paper's definitions (`def:useful`, `defn:eff-decomp`) and in its corollary on
// hidden components (`more_then_one_ev`).
#pragma once

#include "reference/error.hpp"
#include "reference/integer.hpp"

namespace slip::reference {

/// DEF-3. kappa_A = risk(phi) / risk(A(Theta_D)), equation `eq:usefulness`: lower is safer.
/// Error: a risk that is not positive.
inline double usefulness(double risk_of_model, double risk_of_attacker) {
    require(risk_of_model > 0 && risk_of_attacker > 0, "a risk is positive");
    return risk_of_model / risk_of_attacker;
}

/// DEF-6. One m x n matrix of which Charlie keeps rank k, with kappa combinations of the check. A
/// product mod L counts once, whatever its planes.
struct MatrixWork {
    Integer m, n, k, kappa;

    /// m n: the products of the full model, per column.
    Integer full() const { return m * n; }

    /// k (m + n) + kappa (m + n): Charlie's products while the input waits, per column.
    Integer online() const { return (k + kappa) * (m + n); }

    /// m n: the cancellation, per column.
    Integer ahead() const { return m * n; }
};

/// DEF-6. The epsilon of `eq:eff-decomp` with what the paper counts.
inline Rational epsilon_online(const MatrixWork& work) { return {work.online(), work.full()}; }

/// DEF-6. The same with the work ahead of use; greater than 1.
inline Rational epsilon_total(const MatrixWork& work) {
    return {work.online() + work.ahead(), work.full()};
}

/// DEF-8. k (|m - n| + k): the numbers that remain unknown of the hidden part of an m x n matrix of
/// full rank, for whoever has its residual.
inline Integer remaining_unknowns(const Integer& m, const Integer& n, const Integer& k) {
    require(k >= 0 && k <= m && k <= n, "a rank is at most the shorter side");
    return k * (abs(m - n) + k);
}

/// DEF-8. n - k + 1: the count of the paper's corollary. It is not the right one.
inline Integer papers_degrees_of_freedom(const Integer& n, const Integer& k) { return n - k + 1; }

}  // namespace slip::reference
