#include <cmath>
#include <numbers>

#include "optimized/masks/registry.hpp"

namespace slip::masks {
namespace {

/// exp(2 pi i turns / 512). The long double is far more accurate than the double it becomes.
Root root(std::size_t turns) {
    const long double angle =
        2 * std::numbers::pi_v<long double> * static_cast<long double>(turns % 512) / 512;
    return {static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))};
}

/// A step takes a polynomial modulo X^m - c to four, modulo X^(m/4) - c', with c' = w, -w, iw, -iw.
/// In turns, i is 128 and -1 is 256; a step's w is a quarter of the turns of its c.
Roots all_roots() {
    Roots roots{};
    std::size_t turns[21] = {32};  // of w: c is i
    constexpr std::size_t quarters[4] = {0, 2, 1, 3};
    for (std::size_t node = 0; node < 21; ++node) {
        for (std::size_t power = 0; power < 3; ++power) {
            roots.by_four[node][power] = root((power + 1) * turns[node]);
        }
        for (std::size_t q = 0; q < 4 && 4 * node + 4 < 21; ++q) {
            turns[4 * node + 1 + q] = (turns[node] + 128 * quarters[q]) / 4;
        }
    }
    for (std::size_t last = 0; last < 16; ++last) {  // below, c = w has v, and c = iw has u
        roots.by_two[last][0] = root(turns[5 + last] / 2);
        roots.by_two[last][1] = root((turns[5 + last] + 128) / 2);
    }
    return roots;
}

}  // namespace

const Roots& roots() {
    static const Roots all = all_roots();
    return all;
}

}  // namespace slip::masks
