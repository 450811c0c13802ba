// The secret of the integrity check by its definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/kernels/group_weights.hpp"
#include "property_tests/masks/keystream_fixture.hpp"

namespace slip::testing {

inline constexpr std::size_t kappa = 8;

/// a mod p, with 0 <= result < p.
inline unsigned mod(std::int64_t a, unsigned p) { return static_cast<unsigned>((a % p + p) % p); }

/// INTEG-1 and INTEG-2 of one group, written once more: lists of numbers.
struct DefinedSecret {
    DefinedSecret(const std::vector<std::uint8_t>& seed, const kernels::GroupWeights& weights,
                  std::size_t planes) {
        for (std::size_t a = 0; a < kappa; ++a) {
            for (std::size_t p = 0; p < planes; ++p) {
                const Residues w_ap =
                    plane_by_definition(seed, masks::Purpose::integrity, a, weights.rows(), p)
                        .residues;
                for (std::size_t j = 0; j < weights.cols(); ++j) {
                    std::int64_t sum = 0;
                    for (std::size_t i = 0; i < weights.rows(); ++i) {
                        sum += std::int64_t{w_ap[i]} * weights.row(i)[j];
                    }
                    s.push_back(static_cast<std::uint8_t>(mod(sum, primes[p])));
                }
                w.insert(w.end(), w_ap.begin(), w_ap.end());
            }
        }
    }

    Residues w;  // kappa x planes x M
    Residues s;  // kappa x planes x n
};

}  // namespace slip::testing
