// The table of the hidden split (HIDE-2): what each class of widths is scaled and decoded with.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "reference/integer.hpp"

namespace slip::reference {

/// HIDE-2. A row of the table. It follows from the set and the class of widths alone: nothing in it
/// depends on a model, on V, E or a mask.
struct HiddenWidth {
    std::size_t n;             ///< the largest width of the class
    Integer R_square;          ///< ||E_i||^2 exceeds it with a probability of at most 2^-128
    Integer B;                 ///< no row of W', and no activation, has a larger 2-norm
    Integer s;                 ///< a small unit mod L, above 2 B^2
    Integer tau;               ///< tau^2 = s mod L
    std::array<Integer, 2> u;  ///< the multipliers that decode a product
    std::array<Integer, 2> v;  ///< v_j = u_j tau mod L, small
};

/// The table, narrow classes first.
const std::vector<HiddenWidth>& hidden_widths();

/// The row of the narrowest class that has matrices of `n` columns. Error: n outside 1..6144.
const HiddenWidth& hidden_width(std::size_t n);

}  // namespace slip::reference
