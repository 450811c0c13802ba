// LWE problems small enough to attack: messages and rows of hidden matrices as the product makes
// them (MASK-7, HIDE-1), whose secret is told but for `ell` coordinates.
//
// The attacker knows activations, W' and tau: he takes away the two and what he was told, divides
// by tau, and reduces modulo the first prime of L. With all of L, the estimate of 2016 has LLL find
// secrets up to ell = 360; relative to one prime the noise is large enough for block sizes to
// matter in dimensions of 60 to 100.
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include "optimized/base/parameters.hpp"

namespace slip::attacks {

/// b = P s + e modulo the first prime, for many s under one P.
struct SmallLwe {
    static constexpr long q = base::parameters::primes[0];

    struct Target {
        std::vector<int> s;
        std::vector<long> b;
    };
    std::vector<std::vector<long>> P;  ///< m rows of ell residues
    std::vector<Target> targets;

    long samples() const { return static_cast<long>(P.size()); }
    long dimension() const { return static_cast<long>(P.front().size()); }
};

/// The product's problems for matrices of `samples` columns: from one group's messages, or from the
/// rows of one hidden matrix. No two targets share a coordinate of their secrets.
SmallLwe lwe_of_messages(std::size_t ell, std::size_t samples, std::size_t targets,
                         std::mt19937_64& random);
SmallLwe lwe_of_rows(std::size_t ell, std::size_t samples, std::size_t targets,
                     std::mt19937_64& random);

/// Textbook targets under the same P, secrets and noise drawn here; without the noise if `exact`.
std::vector<SmallLwe::Target> textbook_targets(const SmallLwe& problem, std::size_t count,
                                               std::mt19937_64& random, bool exact = false);
std::vector<SmallLwe::Target> uniform_targets(const SmallLwe& problem, std::size_t count,
                                              std::mt19937_64& random);

}  // namespace slip::attacks
