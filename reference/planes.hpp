// Residues modulo a product of primes, as one residue per prime (RING-5): the Chinese remainder
// theorem, Z_L = F_p1 x ... x F_ph.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/integer.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

/// RING-5. L = p_1 ... p_h for different primes; plane p of a residue r is r mod p_p.
class Planes {
public:
    /// Errors: no prime, a number that is not prime, a prime that stands twice.
    explicit Planes(std::vector<Integer> primes);

    /// Z_L.
    const Ring& ring() const { return ring_; }
    const std::vector<Integer>& primes() const { return primes_; }
    std::size_t count() const { return primes_.size(); }  ///< h

    /// r mod p_p, for each plane p. Error: r outside 0..L-1.
    Vector split(const Integer& r) const;

    /// The r in 0..L-1 with the given residues: sum_p (r_p inverse_p mod p_p) L / p_p mod L.
    /// Errors: not h residues, one that is not canonical.
    Integer join(const Vector& residues) const;

    /// The factor inverse_p of join(): (L / p_p)^-1 mod p_p.
    const Integer& inverse(std::size_t plane) const { return inverses_.at(plane); }

    /// Plane p of a vector, of a matrix: entry by entry.
    Vector plane(std::size_t p, const Vector& v) const;
    Matrix plane(std::size_t p, const Matrix& X) const;

    /// The vector with the given planes. Errors: not h planes, planes of unequal length, an entry
    /// that is not canonical.
    Vector join(const std::vector<Vector>& planes) const;

private:
    std::vector<Integer> primes_;
    Ring ring_;
    std::vector<Integer> inverses_;
};

/// RAND-2, plane by plane: `count` residues modulo L, plane p from the stream (plane p, purpose,
/// index). They are uniform on 0..L-1 if every plane is uniform, for join is a bijection.
Vector uniform_residues(const Planes& planes, const Key& key, Purpose purpose, std::uint64_t index,
                        std::size_t count);

/// RAND-8, plane by plane: `count` public residues modulo L.
Vector public_residues(const Planes& planes, std::uint8_t set, PublicPurpose purpose,
                       std::uint32_t width, std::uint32_t index, const Key& seed,
                       std::size_t count);

}  // namespace slip::reference
