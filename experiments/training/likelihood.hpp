// How well a model predicts a text.
#pragma once

#include "model.hpp"

#include <cstdint>
#include <vector>

namespace training {

/// Sum over all of `ids` of -ln p(id | context). The text is cut into windows of `window` tokens
/// that advance by `stride`; every window is preceded by BOS, and in each only the tokens not
/// scored before count. With stride == window the windows do not overlap; a smaller stride gives
/// each token more context.
double total_nll(const Model& model, const std::vector<int64_t>& ids, int64_t window,
                 int64_t stride);

}  // namespace training
