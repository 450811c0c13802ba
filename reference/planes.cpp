#include "reference/planes.hpp"

#include <algorithm>
#include <utility>

#include "reference/error.hpp"

namespace slip::reference {

namespace {

bool is_prime(const Integer& p) {
    if (p < 2) return false;
    for (Integer d = 2; d * d <= p; ++d) {
        if (p % d == 0) return false;
    }
    return true;
}

Integer product(const std::vector<Integer>& primes) {
    require(!primes.empty(), "a modulus has at least one prime factor");
    Integer L = 1;
    for (const Integer& p : primes) {
        require(is_prime(p), "a residue is split by primes");
        require(L % p != 0, "the primes of a modulus differ");
        L *= p;
    }
    return L;
}

/// a^-1 in F_p = a^(p - 2), by Fermat.
Integer inverse_in(const Integer& p, const Integer& a) {
    return boost::multiprecision::powm(a, Integer(p - 2), p);
}

}  // namespace

Planes::Planes(std::vector<Integer> primes) : primes_(std::move(primes)), ring_(product(primes_)) {
    for (const Integer& p : primes_) {
        inverses_.push_back(inverse_in(p, Integer(ring_.modulus() / p % p)));
    }
}

Vector Planes::split(const Integer& r) const {  // RING-5
    require(ring_.contains(r), "a residue lies in 0..L-1");
    Vector residues;
    for (const Integer& p : primes_) residues.push_back(r % p);
    return residues;
}

Integer Planes::join(const Vector& residues) const {  // RING-5
    require(residues.size() == count(), "a residue has one part per plane");
    const Integer& L = ring_.modulus();
    Integer sum = 0;
    for (std::size_t p = 0; p < count(); ++p) {
        require(Ring(primes_[p]).contains(residues[p]), "a part of a residue lies below its prime");
        sum += residues[p] * inverses_[p] % primes_[p] * (L / primes_[p]);
    }
    return sum % L;
}

Vector Planes::plane(std::size_t p, const Vector& v) const {
    ring_.require_elements(v);
    Vector result;
    for (const Integer& r : v) result.push_back(r % primes_.at(p));
    return result;
}

Matrix Planes::plane(std::size_t p, const Matrix& X) const {
    std::vector<Vector> columns;
    for (std::size_t j = 0; j < X.cols(); ++j) columns.push_back(plane(p, X.column(j)));
    return Matrix::from_columns(X.rows(), columns);
}

Vector Planes::join(const std::vector<Vector>& planes) const {
    require(planes.size() == count(), "a vector has one part per plane");
    Vector result;
    for (std::size_t i = 0; i < planes.front().size(); ++i) {
        Vector parts;
        for (const Vector& plane : planes) {
            require(plane.size() == planes.front().size(), "planes have one length");
            parts.push_back(plane[i]);
        }
        result.push_back(join(parts));
    }
    return result;
}

Vector uniform_residues(const Planes& planes, const Key& key, Purpose purpose, std::uint64_t index,
                        std::size_t count) {
    std::vector<Vector> drawn;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        drawn.push_back(uniform_residues(Ring(planes.primes()[p]), key, purpose, index, count, p));
    }
    return planes.join(drawn);
}

Vector public_residues(const Planes& planes, std::uint8_t set, PublicPurpose purpose,
                       std::uint32_t width, std::uint32_t index, const Key& seed,
                       std::size_t count) {  // RAND-8
    std::vector<Vector> residues;
    for (std::size_t p = 0; p < planes.count(); ++p) {
        const Bytes input = public_input(set, purpose, p, width, index, seed);
        residues.push_back(public_residues(Ring(planes.primes()[p]), input, count));
    }
    return planes.join(residues);
}

}  // namespace slip::reference
