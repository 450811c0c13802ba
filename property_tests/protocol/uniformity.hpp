// Whether residues look uniform.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "property_tests/generators/protocol_fixture.hpp"

namespace slip::testing {

/// Pearson's statistic of residues modulo a prime against uniform; 222 to 250 degrees of freedom.
inline double chi_square(const Residues& residues, unsigned prime) {
    std::array<double, 256> counts{};
    for (const std::uint8_t residue : residues) counts[residue] += 1;
    const double expected = static_cast<double>(residues.size()) / prime;
    double sum = 0;
    for (unsigned r = 0; r < prime; ++r) {
        sum += (counts[r] - expected) * (counts[r] - expected) / expected;
    }
    return sum;
}
/// A uniform sample exceeds it with probability below 1e-8: 250 + 5.7 sqrt(2 * 250) + 22.
inline constexpr double chi_square_limit = 400;

using View = std::vector<Residues>;  // one column per element, in order

/// Whether, in every plane, residues, differences between neighbouring columns, and differences
/// between all columns and the first look uniform: the second and third see a mask that is used
/// again.
inline bool looks_uniform(const View& view, std::size_t planes = paper_planes) {
    const std::size_t width = view[0].size() / planes;
    for (std::size_t p = 0; p < planes; ++p) {
        const unsigned prime = primes[p];
        Residues residues, from_previous, from_first;
        for (std::size_t c = 0; c < view.size(); ++c) {
            for (std::size_t j = p * width; j < (p + 1) * width; ++j) {
                residues.push_back(view[c][j]);
                if (c == 0) continue;
                const auto minus = [&](const Residues& other) {
                    return static_cast<std::uint8_t>((view[c][j] + prime - other[j]) % prime);
                };
                from_previous.push_back(minus(view[c - 1]));
                from_first.push_back(minus(view[0]));
            }
        }
        for (const Residues& sample : {residues, from_previous, from_first}) {
            if (chi_square(sample, prime) >= chi_square_limit) return false;
        }
    }
    return true;
}

inline constexpr std::size_t view_columns = 256;
inline constexpr std::size_t view_width = 64;

/// Activations whose masked columns are looked at, up to `largest` in magnitude.
inline Columns columns_to_view(Fill kind, std::int16_t largest) {
    Random random(5);
    return {view_columns, view_width,
            fill<std::int16_t>(kind, view_columns * view_width, static_cast<std::int16_t>(-largest),
                               largest, random)};
}

}  // namespace slip::testing
