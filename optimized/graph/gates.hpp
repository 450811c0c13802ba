// Float operations of some of LLaMA's relatives (MODEL-13), with equal bits on every backend
// (MODEL-5).
#pragma once

#include <span>

namespace slip::graph {

/// gate[j] = GELU(gate[j]) * up[j], GELU in its tanh form.
void gelu_gate(std::span<float> gate, std::span<const float> up);

/// x[j] = cap * tanh(x[j] / cap), within 2^-20 cap of it. A NaN stays a NaN.
void soft_cap(std::span<float> x, float cap);

/// x[j] = factor * x[j].
void multiply(std::span<float> x, float factor);

}  // namespace slip::graph
