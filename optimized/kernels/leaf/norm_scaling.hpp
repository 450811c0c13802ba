// ENC-1: how a column is scaled to its norm, in binary64 and in the order of the clause, so that
// all backends agree to the bit. Always inlined, as in residues.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

/// The ordered sum from its lanes.
[[gnu::always_inline]] inline double ordered_total(const double (&lane)[float_lanes]) {
    double total = lane[0] + lane[4];
    for (std::size_t l = 1; l < float_lanes / 2; ++l) total += lane[l] + lane[l + 4];
    return total;
}

struct Scaling {
    double inverse;
    float scale;
};

/// Of n elements whose squares have the sum S > 0. Rounding adds at most sqrt(n) / 2 to the 2-norm,
/// and half a unit is left for what binary64 rounds.
[[gnu::always_inline]] inline Scaling scaling_of(double sum, std::size_t n, std::int32_t norm) {
    // Signed numbers are converted by one instruction on every processor.
    const auto count = static_cast<double>(static_cast<std::int64_t>(n));
    const double target = norm - (__builtin_sqrt(count) + 1) / 2;
    const double length = __builtin_sqrt(sum);
    return {target / length, static_cast<float>(length / target)};
}

}  // namespace slip::kernels
