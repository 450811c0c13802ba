// The part of a matrix that Charlie keeps: spec/decomposition.md, DECO-8.
#pragma once

#include <cstddef>

#include "optimized/base/matrix_view.hpp"
#include "optimized/split/selection.hpp"
#include "optimized/split/singular_components.hpp"
#include "slip/types.hpp"

namespace slip::splitting {

/// W_C of W for a k <= largest_rank: DECO-8. `random` is read by the strategies that choose at
/// random. The same bits for every number of threads.
Components kept_part(Strategy strategy, base::MatrixView<const float> w, std::size_t k,
                     const ByteSource& random, std::size_t threads = 1);

}  // namespace slip::splitting
