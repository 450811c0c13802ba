// Splits that hide the spans of Charlie's part, at the cost of LSC (E-33): W_D is W minus a matrix
// of rank k, and has no null space to show where that matrix was.
#pragma once

#include "experiments/safety/restore/attackers.hpp"

#include <cstdint>
#include <string>

namespace safety {

/// `random_core`: Charlie's spans are those of the k strongest components; in their place W_D has a
/// random core with singular values of the size of the others. `tilted`: the same with each of the
/// spans' directions turned by `tilt` towards one of the rest. `mixture`: k/2 of the strongest
/// components, rounded up, and others at random, behind one random core.
enum class Hiding { random_core, tilted, mixture };
/// "random-core", "tilted" or "mixture". Throws std::invalid_argument for another name.
Hiding hiding_named(const std::string& name);
const char* name_of(Hiding hiding);

/// In degrees: sin^2 = 0.12 of each direction's energy.
inline constexpr double tilt = 20.0;

/// The spans of Charlie's part of rank k of the m x n matrix. Draws from libtorch's generator.
/// Requires 2 k <= min(m, n).
Spans spans_to_hide(const torch::Tensor& matrix, int64_t k, Hiding hiding);

/// W_D: within the spans, which hold k of its directions on each side, the matrix is replaced by a
/// random k x k core whose singular values are drawn from those of the matrix beyond the k-th;
/// float32, not rounded.
torch::Tensor with_random_core(const torch::Tensor& matrix, const Spans& spans);

/// Each row on its own grid of 255 values: what eight bits per weight leave.
torch::Tensor rounded_to_8_bits(const torch::Tensor& matrix);

}  // namespace safety
