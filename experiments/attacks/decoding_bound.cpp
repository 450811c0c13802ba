// Products of the hidden split whose parts are longer than the widths' norms allow (HIDE-2): the
// lifts of the decoding wrap (HIDE-5), and the replies that give wrong answers are right.
#include <NTL/ZZ.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/runs.hpp"
#include "optimized/base/hidden_widths.hpp"
#include "optimized/masks/decoding.hpp"

namespace slip::attacks {
namespace {

/// Z + tau B mod L, centred (HIDE-5).
std::int64_t centred(long Z, long tau, long B) {
    const auto L = static_cast<long>(base::parameters::modulus(6));
    const long residue = NTL::rem(NTL::ZZ(tau) * B + Z, L);
    return residue > L / 2 ? residue - L : residue;
}

constexpr double tail = 75.0 / 8;
constexpr double delta = 4096;  // HIDE-4

/// The greatest 2-norm of a row of E for which rows and columns of the width's norm fit (HIDE-2).
double longest_noise(const base::HiddenWidth& width) {
    constexpr auto half = static_cast<double>(base::parameters::modulus(6) / 2);
    const auto norm = static_cast<double>(width.norm), s = static_cast<double>(width.s);
    double longest = half;
    for (std::size_t j = 0; j < 2; ++j) {
        const double u = std::abs(static_cast<double>(width.u[j]));
        const double v = std::abs(static_cast<double>(width.v[j]));
        longest = std::min(longest, (half - u * norm * norm - v * (tail * norm + delta)) /
                                        (u * s * tail + v * norm));
    }
    return longest;
}

/// The share of products that are decoded rightly, over all widths and signs: a column in the
/// direction of its row of W', and the greatest E q, W' e and E e that these norms allow.
Outcome decoded(double of_norm) {
    double right = 0, count = 0;
    for (const base::HiddenWidth& width : base::hidden_widths) {
        const double norm = std::floor(of_norm * width.norm), R = longest_noise(width);
        const auto of_B = static_cast<std::int64_t>((R + tail) * norm + delta);
        const auto of_Ee = static_cast<std::int64_t>(tail * R);
        for (int signs = 0; signs < 8; ++signs) {
            const auto sign = [&](int bit) { return (signs >> bit & 1) != 0 ? -1 : 1; };
            const auto product = sign(0) * static_cast<std::int64_t>(norm * norm);
            std::int64_t Y = centred(product + width.s * sign(1) * of_Ee,
                                     static_cast<long>(width.tau), sign(2) * of_B);
            masks::decode_products(width, {&Y, 1});
            right += Y == product;
            count += 1;
        }
    }
    return {right / count, 0.9, static_cast<std::uint64_t>(count),
            "rows and columns of " + figure(of_norm) + " times the norm, at " +
                std::to_string(base::hidden_widths.size()) + " widths"};
}

}  // namespace

Outcome wrap_twin(const Setting& /*setting*/) { return decoded(1.5); }
Outcome wrap_hidden(const Setting& /*setting*/) { return decoded(1); }

}  // namespace slip::attacks
