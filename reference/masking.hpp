// IP protection via masking (the paper's Section `sec:ip_protection_via_masking`):
//
//     ahead     r uniform in Z_L^n,  c = W_D r mod L
//     online    x~ = q + r mod L  ->  David  ->  y~ = W_D x~ mod L
//               y_D = lift(y~ - c mod L) = W_D q
#pragma once

#include <cstdint>
#include <variant>

#include "reference/hidden_widths.hpp"
#include "reference/integer.hpp"
#include "reference/planes.hpp"

namespace slip::reference {

/// MASK-1. x~ = embed(q) + r mod L, for q in Z^n and r in Z_L^n. Error: lengths differ.
///
/// MASK-2 (the paper's Theorem `thm:perfectly_secure_masking`): for every fixed q the map
/// r |-> x~ is a bijection of Z_L^n, with inverse x~ |-> x~ - embed(q). So if r is uniform and
/// independent of q then Pr[x~ = v | q] = L^-n for every v: x~ is uniform and independent of q.
Vector mask(const Ring& ring, const Vector& q, const Vector& r);

/// MASK-3. c = W_D r mod L, for W_D in Z^(m x n) and r in Z_L^n; computed ahead of use.
Vector cancellation(const Ring& ring, const Matrix& W_D, const Vector& r);

/// MASK-4 (the paper's Lemma `lem::remove_noise`). y_D = lift(y~ - c mod L).
///
/// If y~ = W_D x~ mod L then y~ - c = W_D (q + r) - W_D r = W_D q mod L, and the lift is W_D q
/// itself exactly when every |(W_D q)_i| <= (L - 1) / 2 (L odd), which ENC-4 ensures.
Vector unmask(const Ring& ring, const Vector& y_masked, const Vector& c);

/// MASK-8. The product under lattice masks: unmask(ring, y~, c), reduced to the residue of least
/// magnitude mod tau (of two such, the negative one).
///
/// If y~ - c = W_D (q + tau e) mod L, the lift is W_D (q + tau e) itself when every entry of it is
/// at most (L - 1) / 2 in magnitude; and its residue is W_D q when every |(W_D q)_i| < tau / 2.
Vector unmask(const Ring& ring, const Integer& tau, const Vector& y_masked, const Vector& c);

/// HIDE-5. The product under the hidden split, for y~ = y_A - V^T y_U mod L. With Y = y~ - c mod L
/// and the u_j, v_j and s of the width,
///
///     l_j = lift(u_j Y),    Z = (v_2 l_1 - v_1 l_2) / (u_1 v_2 - u_2 v_1),    y = Z centred mod s
///
/// If Y = Z + tau B mod L, then u_j Y = u_j Z + v_j B mod L, and the lifts are these integers
/// themselves when HIDE-2 bounds them; y is W' q because Z = W' q + s E e and |W' q| < s / 2.
/// Error: a Y that is no such sum.
Vector unmask(const Ring& ring, const HiddenWidth& width, const Vector& y_masked, const Vector& c);

/// What the noise of a mask vanishes modulo: there is none (MASK-4); tau (MASK-8); what a width
/// says (HIDE-5).
using Noise = std::variant<std::monostate, Integer, HiddenWidth>;

/// MASK-5. A mask r and its cancellation c, good for one column of one message.
///
/// The mask is spent before it is used: mask() works once, then unmask() works once, and a
/// failure inside either spends it too. It can be moved but not copied, and a mask that was moved
/// from is spent. Errors: a second use, or unmask() before mask().
class OneTimeMask {
public:
    OneTimeMask(std::uint64_t index, Vector r, Vector c, Noise noise = {});

    OneTimeMask(OneTimeMask&& other) noexcept;
    OneTimeMask& operator=(OneTimeMask&& other) noexcept;
    OneTimeMask(const OneTimeMask&) = delete;
    OneTimeMask& operator=(const OneTimeMask&) = delete;
    ~OneTimeMask() = default;

    std::uint64_t index() const { return index_; }
    bool fresh() const { return state_ == State::fresh; }

    Vector mask(const Ring& ring, const Vector& q);
    Vector unmask(const Ring& ring, const Vector& y_masked);

private:
    enum class State { fresh, masked, spent };

    std::uint64_t index_;
    Vector r_;
    Vector c_;
    Noise noise_;
    State state_ = State::fresh;
};

/// MASK-5. The masks of one session: the mask index starts at 0 and rises by one per column drawn,
/// whatever the matrix, and no index is drawn twice.
class MaskSequence {
public:
    MaskSequence(Planes planes, const Key& key);

    /// The next mask, for a column that David will multiply by W_D: plane p of r is the stream
    /// (p, Purpose::mask, index), and c = W_D r mod L.
    OneTimeMask draw(const Matrix& W_D);

    std::uint64_t next_index() const { return next_index_; }

private:
    Planes planes_;
    Key key_;
    std::uint64_t next_index_ = 0;
};

}  // namespace slip::reference
