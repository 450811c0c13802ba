// A secret of R^d from exact products with known ring elements, by linear algebra modulo one prime:
// what masks and hidden weights come to where their noise is known or left out.
#pragma once

#include <NTL/mat_lzz_p.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimized/masks/contracts.hpp"

namespace slip::attacks {

/// Equations for s in R^d, small: coefficient `i` of sum_l a[l] s[l] is `value`, modulo a prime.
class RingEquations {
public:
    /// For `elements` = d unknown ring elements.
    RingEquations(std::size_t elements, int prime) : unknowns_(elements * masks::degree) {
        NTL::zz_p::init(prime);
        A_.SetDims(static_cast<long>(unknowns_), static_cast<long>(unknowns_));
        b_.SetLength(static_cast<long>(unknowns_));
    }

    bool complete() const { return count_ == static_cast<long>(unknowns_); }

    /// `a`: d ring elements, coefficient after coefficient. Does nothing once complete().
    template <class Residue>
    void add(std::span<const Residue> a, std::size_t i, std::int64_t value) {
        if (complete()) return;
        for (std::size_t first = 0; first < unknowns_; first += masks::degree) {
            for (std::size_t t = 0; t < masks::degree; ++t) {
                const bool wraps = t > i;  // X^N = -1
                const auto factor =
                    static_cast<long>(a[first + (wraps ? masks::degree + i - t : i - t)]);
                A_[count_][static_cast<long>(first + t)] = wraps ? -factor : factor;
            }
        }
        b_[count_++] = static_cast<long>(value % NTL::zz_p::modulus());
    }

    /// s, centred; nothing if the equations are dependent modulo this prime.
    std::optional<std::vector<int>> solve() const {
        NTL::zz_p determinant;
        NTL::vec_zz_p x;
        NTL::solve(determinant, A_, x, b_);
        if (determinant == 0) return std::nullopt;
        const long prime = NTL::zz_p::modulus();
        std::vector<int> s;
        for (const NTL::zz_p& entry : x) {
            const long residue = NTL::rep(entry);
            s.push_back(static_cast<int>(residue > prime / 2 ? residue - prime : residue));
        }
        return s;
    }

private:
    std::size_t unknowns_;
    long count_ = 0;
    NTL::mat_zz_p A_;
    NTL::vec_zz_p b_;
};

}  // namespace slip::attacks
