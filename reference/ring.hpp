// The integers modulo L: "integers mod L" of the paper (Section "IP Protection via Masking"),
// for any L >= 2, composite L included.
#pragma once

#include <cstddef>
#include <utility>

#include "reference/error.hpp"
#include "reference/integer.hpp"

namespace slip::reference {

/// The ring Z_L.
///
/// CONV-1: an element is the canonical representative r of its class, 0 <= r <= L - 1; vectors
/// are columns. Every operation refuses an argument that is not canonical.
class Ring {
public:
    /// Error: L < 2.
    explicit Ring(Integer modulus) : modulus_(std::move(modulus)) {
        require(modulus_ >= 2, "a modulus is at least 2");
    }

    const Integer& modulus() const { return modulus_; }

    /// Whether r is canonical: 0 <= r < L.
    bool contains(const Integer& r) const { return r >= 0 && r < modulus_; }

    /// RING-2. Z -> Z_L, v |-> v mod L in 0..L-1, for negative v too.
    Integer embed(const Integer& v) const {
        Integer remainder = v % modulus_;  // has the sign of v
        if (remainder < 0) remainder += modulus_;
        return remainder;
    }

    /// RING-1. a + b mod L.
    Integer add(const Integer& a, const Integer& b) const {
        require_elements(a, b);
        return embed(a + b);
    }

    /// RING-1. a - b mod L.
    Integer subtract(const Integer& a, const Integer& b) const {
        require_elements(a, b);
        return embed(a - b);
    }

    /// RING-1. a b mod L.
    Integer multiply(const Integer& a, const Integer& b) const {
        require_elements(a, b);
        return embed(a * b);
    }

    /// RING-3. The centred lift Z_L -> Z: r if r <= floor((L - 1) / 2), else r - L.
    ///
    /// lift(embed(v)) = v exactly when -floor(L / 2) <= v <= floor((L - 1) / 2); for odd L this is
    /// |v| <= (L - 1) / 2. The paper's Lemma `lem::remove_noise` omits this lift: with values in
    /// [-B, B] it needs L >= 2 B + 1, not L >= B.
    Integer lift(const Integer& r) const {
        require(contains(r), "a residue lies in 0..L-1");
        const Integer largest = (modulus_ - 1) / 2;
        return r <= largest ? r : Integer(r - modulus_);
    }

    /// RING-2, entry by entry.
    Vector embed(const Vector& v) const {
        Vector result;
        for (const Integer& entry : v) result.push_back(embed(entry));
        return result;
    }

    /// RING-2, entry by entry.
    Matrix embed(const Matrix& W) const {
        Matrix result(W.rows(), W.cols());
        for (std::size_t i = 0; i < W.rows(); ++i) {
            for (std::size_t j = 0; j < W.cols(); ++j) result(i, j) = embed(W(i, j));
        }
        return result;
    }

    /// RING-1, entry by entry. Error: lengths differ.
    Vector add(const Vector& a, const Vector& b) const {
        require(a.size() == b.size(), "a sum needs two vectors of one length");
        Vector result;
        for (std::size_t i = 0; i < a.size(); ++i) result.push_back(add(a[i], b[i]));
        return result;
    }

    /// RING-1, entry by entry. Error: lengths differ.
    Vector subtract(const Vector& a, const Vector& b) const {
        require(a.size() == b.size(), "a difference needs two vectors of one length");
        Vector result;
        for (std::size_t i = 0; i < a.size(); ++i) result.push_back(subtract(a[i], b[i]));
        return result;
    }

    /// W x mod L for an m x n matrix over Z and x in Z_L^n. Error: shapes differ.
    Vector multiply(const Matrix& W, const Vector& x) const {
        require_elements(x);
        return embed(embed(W) * x);
    }

    /// RING-3, entry by entry.
    Vector lift(const Vector& r) const {
        Vector result;
        for (const Integer& entry : r) result.push_back(lift(entry));
        return result;
    }

    /// Error: an entry is not canonical.
    void require_elements(const Vector& v) const {
        for (const Integer& entry : v) require(contains(entry), "a residue lies in 0..L-1");
    }

private:
    void require_elements(const Integer& a, const Integer& b) const {
        require(contains(a) && contains(b), "a residue lies in 0..L-1");
    }

    Integer modulus_;
};

}  // namespace slip::reference
