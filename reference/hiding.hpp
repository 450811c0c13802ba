// The hidden split (ours): what David holds is pseudorandom under Module-LWE, whatever the model
// is.
//
//     R = Z_L[X] / (X^N + 1),   ell = d N,   tau^2 = s mod L
//     owner     W' in Z^(M x n), the integer model;  V and E small and secret;  U in Z_L^(ell x n)
//     public
//               A = V^T U + W' + tau E              David's W_t = [A ; U]
//               H = (W' + tau E) T                  Charlie's, of lattice masks
//     message   x~ = q + (coefficient i of T S) + tau e
//     reply     W_t x~ = (y_A, y_U)
//     Charlie   Y = y_A - V^T y_U - c = (W' + tau E) (q + tau e) = Z + tau B mod L
//               Z = W' q + s E e,  B = E q + W' e   both small: two multiples of Y give Z exactly
//               W' q = Z mod s
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/hidden_widths.hpp"
#include "reference/integer.hpp"
#include "reference/lattice.hpp"
#include "reference/parameters.hpp"
#include "reference/randomness.hpp"

namespace slip::reference {

/// HIDE-2. Whether a product is decoded rightly for every W' and q of norm B, all rows of E of norm
/// R, and every e that is no more than 75/8 = 13.2 standard deviations of a sum:
///
///     |u_j| (B^2 + s (75/8) R) + |v_j| ((R + 75/8) B + Delta) <= (L - 1) / 2,   j = 1, 2
///
/// with a unit tau, tau^2 = s, v_j = u_j tau mod L, u_1 v_2 - u_2 v_1 = +-L and 2 B^2 < s.
bool decodes(const HiddenWidth& width, const Integer& Delta, const Ring& ring);

/// HIDE-7. Where the parts of a matrix of `n` columns begin, and n. Error: n = 0.
std::vector<std::size_t> part_bounds(std::size_t n);

/// HIDE-8. The integer model of one part of a matrix: W is approximately diag(row_scale) W'.
struct HiddenModel {
    Matrix W;
    std::vector<float> row_scale;
};

/// HIDE-8. Each row quantised as an activation is (ENC-1), to the norm B of its width. Errors:
/// those of quantise() and hidden_width(), rows of unequal length.
HiddenModel encode_rows(const std::vector<std::vector<float>>& W);

/// HIDE-3. The key of the streams of V and E: SHA-256 of a domain, the group, the shape, the digest
/// of W', the public seed and the owner's secret, so that no V ever serves two matrices, nor one
/// with two U.
Key hiding_key(const ParameterSet& set, const Key& secret, const Key& seed, std::uint32_t group,
               const Matrix& W);

/// HIDE-3. V in R^(ceil(M/N) x d): row b is the d N small integers of the stream (plane 0,
/// Purpose:: weight_secret, b), embedded in R.
RingMatrix weight_secret(const ParameterSet& set, const Key& key, std::size_t M);

/// HIDE-3. E in Z^(M x n): row i is the n small integers of the stream (plane 0, Purpose::
/// weight_error, i).
Matrix weight_error(const ParameterSet& set, const Key& key, std::size_t M, std::size_t n);

/// HIDE-3. U in Z_L^(ell x n): row l is the n public residues of RAND-8 with purpose 2, width n and
/// index l.
Matrix public_rows(const ParameterSet& set, const Key& seed, std::size_t n);

/// HIDE-4. V^T y for y in Z_L^ell, M entries: entry b N + i is coefficient i of sum_l V[b][l] y[l],
/// with y[l] the ring element of the entries l N .. l N + N - 1. Error: not d N entries.
Vector times_secret(const NegacyclicRing& R, const RingMatrix& V, const Vector& y, std::size_t M);

/// HIDE-4. What Charlie keeps of a matrix to serve it, beside his masks: V, and M.
struct WeightSecret {
    RingMatrix V;
    std::size_t M;

    /// y_A - V^T y_U mod L, for a reply (y_A, y_U) of M + ell entries. Error: another number.
    Vector remove(const NegacyclicRing& R, const Vector& reply) const;
};

/// One matrix under the hidden split: what the owner computes once.
struct HiddenMatrix {
    ParameterSet set;  ///< at_width(n)
    Matrix W;          ///< W', M x n, no row longer than B
    WeightSecret secret;
    Matrix E;  ///< M x n
    Matrix U;  ///< ell x n

    /// W' + tau E over Z. Its H is that of the masks (MASK-7).
    Matrix noisy() const;
    /// HIDE-1. W_t = [A ; U], (M + ell) x n, canonical.
    Matrix davids_weights() const;
};

/// HIDE-1, HIDE-3. `secret` is the owner's, `seed` the public one. Errors: a row of W' longer than
/// B, and those of at_width.
HiddenMatrix hide(const ParameterSet& set, const Key& secret, const Key& seed, std::uint32_t group,
                  const Matrix& W);

}  // namespace slip::reference
