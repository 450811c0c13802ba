// The table of the hidden split (HIDE-2): what each class of widths is scaled and decoded with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::base {

/// HIDE-2: a row of the table. It follows from the set and the class of widths alone.
struct HiddenWidth {
    std::size_t n;                  // the largest width of the class
    std::int32_t norm;              // B: no row of W', and no activation, has a larger 2-norm
    std::int64_t s;                 // tau^2 = s mod L
    std::uint64_t tau;              // what noise is a multiple of
    std::array<std::int64_t, 2> u;  // the multipliers that decode a product
    std::array<std::int64_t, 2> v;  // v_j = u_j tau mod L, small
};
inline constexpr std::array<HiddenWidth, 14> hidden_widths{{
    {64, 2417, 11689577, 67385541262649, {-2596, 95683}, {1831849585, -65057364}},
    {96, 2172, 9439047, 154564924175515, {94130, -2847}, {80072793, 1857856238}},
    {128, 2036, 8292601, 45270694512092, {95045, -762}, {54242648, 1841934263}},
    {192, 1875, 7034647, 141120226416014, {95968, 1355}, {47692201, -1823976242}},
    {256, 1740, 6056635, 119031886471910, {94939, -1349}, {21967994, -1844738303}},
    {384, 1589, 5052243, 118983647248094, {-96511, 78}, {45340124, 1814346949}},
    {512, 1493, 4463318, 50377737265853, {5697, -103123}, {-1697872888, -3199771}},
    {768, 1357, 3683023, 63579297666527, {-98657, 661}, {-112063608, 1775667707}},
    {1024, 1276, 3258719, 131330553077436, {102255, 4}, {-10124021, -1712464089}},
    {1536, 1159, 2687482, 71066053310250, {2294, 106825}, {1638900659, -14129044}},
    {2048, 1072, 2299063, 97234407770624, {-107457, -407}, {-31329409, -1629681882}},
    {3072, 962, 1851852, 170860076830838, {-110723, 371}, {-10677267, 1581531716}},
    {4096, 888, 1583868, 164699464333749, {113357, -286}, {-6314816, -1544731855}},
    {6144, 790, 1251326, 103345070613107, {3238, 121985}, {-1435691155, -7662328}},
}};
inline constexpr std::size_t widest_hidden = hidden_widths.back().n;

/// The row of the narrowest class that has matrices of n columns, 1 <= n <= widest_hidden.
constexpr const HiddenWidth& hidden_width(std::size_t n) {
    std::size_t row = 0;
    while (hidden_widths[row].n < n) ++row;
    return hidden_widths[row];
}

/// MASK-7, HIDE-2: tau of a matrix of n columns, in a set with lattice masks.
constexpr std::uint64_t tau_at(const parameters::ParameterSet& set, std::size_t n) {
    return set.hides_weights ? hidden_width(n).tau : std::uint64_t{1} << set.lattice->tau_bits;
}

/// HIDE-7: the groups of an artifact of this set, the parts of a wide one in its place.
inline std::vector<GroupShape> parts_of(const parameters::ParameterSet& set,
                                        const std::vector<GroupShape>& groups) {
    if (!set.hides_weights) return groups;
    std::vector<GroupShape> all;
    for (const GroupShape& group : groups) {
        const std::size_t parts = (group.n + widest_hidden - 1) / widest_hidden;
        for (std::size_t p = 0; p < parts; ++p) {
            GroupShape& part = all.emplace_back(group);
            if (parts == 1) continue;
            part.first_column = p * group.n / parts;
            part.n = (p + 1) * group.n / parts - part.first_column;
            part.width = group.n;
        }
    }
    return all;
}

}  // namespace slip::base
