// Lattice masks: masks that Charlie makes N at a time, with cancellations that cost him little.
//
//     R = Z_L[X] / (X^N + 1)
//     public    T in R^(n x d), uniform
//     owner     H = W_D T in R^(M x d)
//     block     S in R^d and e_0, ..., e_(N-1) in Z^n, small and fresh
//     mask i    r_i = (coefficient i of T S) + tau e_i,     c_i = coefficient i of H S
//     reply     y~ = W_D (q + r_i)  ->  y~ - c_i = W_D (q + tau e_i) = W_D q mod tau
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "reference/integer.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// MASK-8. Whether the noise vanishes for every activation of norm B_q, all rows of norm B_w, and
/// every noise that is no more than `tail` = 66/5 standard deviations of an output:
///
///     tau (tail B_w + Delta) + B_w B_q <= (L - 1) / 2     and     2 B_w B_q < tau.
bool noise_vanishes(const LatticeParameters& lattice, const Ring& ring);

/// An element of R: its N coefficients, of X^0 first.
using RingElement = Vector;

/// MASK-7. R = Z_L[X] / (X^N + 1), for any L and N.
class NegacyclicRing {
public:
    /// Error: N = 0.
    NegacyclicRing(Ring coefficients, std::size_t N);

    const Ring& coefficients() const { return Z_L_; }
    std::size_t degree() const { return N_; }

    RingElement zero() const { return RingElement(N_, Integer(0)); }

    /// Errors: not N coefficients, one that is not canonical.
    RingElement add(const RingElement& a, const RingElement& b) const { return Z_L_.add(a, b); }

    /// a b, with X^N = -1: coefficient i is
    /// sum_{j <= i} a_j b_(i-j)  -  sum_{j > i} a_j b_(N+i-j)  mod L. Errors: as for add().
    RingElement multiply(const RingElement& a, const RingElement& b) const;

private:
    Ring Z_L_;
    std::size_t N_;
};

/// A matrix over R, row by row.
using RingMatrix = std::vector<std::vector<RingElement>>;

/// MASK-7. T for matrices of `n` columns: row j is the d N residues of RAND-8 with width n and
/// index j, plane by plane. Error: a set without lattice masks.
RingMatrix public_matrix(const ParameterSet& set, const Key& seed, std::size_t n);

/// MASK-7. H = W_D T. Error: shapes that do not fit.
RingMatrix multiply(const NegacyclicRing& R, const Matrix& W_D, const RingMatrix& T);

/// MASK-7. X S for X in R^(m x d) and S in R^d: m ring elements. Error: shapes that do not fit.
std::vector<RingElement> multiply(const NegacyclicRing& R, const RingMatrix& X,
                                  const std::vector<RingElement>& S);

/// Coefficient i of each element.
Vector coefficient(const std::vector<RingElement>& elements, std::size_t i);

/// MASK-7. The secret S of a block: d small elements, embedded in R.
std::vector<RingElement> block_secret(const ParameterSet& set, const Key& key, std::uint64_t block);

/// MASK-7. The N masks of a block: r_i = (coefficient i of T S) + tau e_i mod L, with the
/// cancellation c_i = coefficient i of H S, and the index N block + i.
std::deque<OneTimeMask> lattice_block(const ParameterSet& set, const RingMatrix& T,
                                      const RingMatrix& H, const Key& key, std::uint64_t block);

/// MASK-9. The masks of a process, whatever sessions they serve: a block belongs to one group, and
/// its number rises by one per block, over all groups. A block is begun when the group's last one
/// is used up.
class LatticeMasks {
public:
    /// `key` is the secret of the process, `seed` the public one of T.
    LatticeMasks(ParameterSet set, const Key& key, const Key& seed);

    /// The next mask of a group, for a column that David will multiply by its W_D.
    OneTimeMask draw(std::uint32_t group, const Matrix& W_D);

private:
    ParameterSet set_;
    Key key_;
    Key seed_;
    std::uint64_t next_block_ = 0;
    std::map<std::uint32_t, std::deque<OneTimeMask>> begun_;
};

}  // namespace slip::reference
