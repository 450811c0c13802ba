// INSECURE, for demonstration only: masks as the paper's latency appendix makes them, sums of L_v
// fixed noise vectors (`sec_latency`, "Sample L_v noise vectors"), and what they give away.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/integer.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::reference::insecure {

/// INSECURE. Masks N g mod L with a fixed N in Z_L^(n x L_v) and a fresh g in Z_L^(L_v) each.
class FewNoiseVectors {
public:
    FewNoiseVectors(Ring ring, const Key& key, std::size_t n, std::size_t L_v);

    /// x~ = embed(q) + N g mod L, with the next g.
    Vector mask(const Vector& q);

private:
    Ring ring_;
    Key key_;
    Matrix noise_;
    std::uint64_t next_index_;
};

/// x~_2 - x~_1, x~_3 - x~_1, ... mod L as columns. For messages with one and the same q these are
/// differences of masks, whatever q is. Error: fewer than two messages.
Matrix differences(const Ring& ring, const std::vector<Vector>& messages);

/// The rank of X over the field of p elements, p prime.
std::size_t rank_over_field(const Matrix& X, const Integer& p);

/// E-12. A matrix H of full rank n - rank(X) with H X = 0 over the field of p elements, p prime,
/// for X in Z^(n x count). If the columns of X span those of N then H N = 0, and
///
///     H x~ = H q mod p
///
/// are n - rank(X) exact equations for the small integers q.
Matrix annihilator(const Matrix& X, const Integer& p);

}  // namespace slip::reference::insecure
