// What Charlie keeps of a matrix: the paper's strategies (spec/decomposition.md, DECO-8).
#pragma once

#include <cstddef>

#include "optimized/base/matrix_view.hpp"
#include "optimized/split/selection.hpp"
#include "optimized/split/singular_components.hpp"
#include "slip/types.hpp"

namespace slip {

/// Whether it draws from the selection seed.
bool uses_randomness(Strategy strategy);

/// DECO-2, DECO-8: the largest k for an m x n matrix, and the number of terms that k gives.
std::size_t largest_rank(Strategy strategy, std::size_t m, std::size_t n);
std::size_t kept_terms(Strategy strategy, std::size_t k, std::size_t m, std::size_t n);

/// DEF-8. How many numbers of W_C David's half leaves open, given which matrix it is and its rank.
std::size_t unknowns_left(Strategy strategy, std::size_t rank, std::size_t m, std::size_t n);
/// What the strategy lets David see, in a sentence.
const char* leak_of(Strategy strategy);

/// W_C of W for a k <= largest_rank: DECO-8. `random` is read by the strategies that choose at
/// random. The same bits for every number of threads.
Components kept_part(Strategy strategy, MatrixView<const float> w, std::size_t k,
                     const ByteSource& random, std::size_t threads = 1);

}  // namespace slip
