// The paper's strategies as a plan and an artifact know them: their names, which ranks they allow,
// and what they leave open. spec/decomposition.md, DECO-8.
#pragma once

#include <cstddef>

#include "slip/types.hpp"

namespace slip::artifact {

/// Whether it draws from the selection seed.
bool uses_randomness(Strategy strategy);

/// DECO-2, DECO-8: the largest k for an m x n matrix, and the number of terms that k gives.
std::size_t largest_rank(Strategy strategy, std::size_t m, std::size_t n);
std::size_t kept_terms(Strategy strategy, std::size_t k, std::size_t m, std::size_t n);

/// DEF-8. How many numbers of W_C David's half leaves open, given which matrix it is and its rank.
std::size_t unknowns_left(Strategy strategy, std::size_t rank, std::size_t m, std::size_t n);
/// Whether what is hidden lies in a span that W_D shows. A coarse grid then determines it
/// (DECO-13); columns or matrices that are left out as a whole do not follow from a grid.
bool exposes_span(Strategy strategy);
/// What the strategy lets David see, in a sentence.
const char* leak_of(Strategy strategy);

}  // namespace slip::artifact
