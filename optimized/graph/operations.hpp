// The float operations that Charlie keeps for himself, on rows: the float kernels of
// optimized/kernels/contracts.hpp, which give equal bits in every backend (MODEL-5). Attention is
// in attention.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"

namespace slip::graph {

/// RMSNorm of every row x of `rows`: out[j] = weight[j] * (x[j] / sqrt(mean(x^2) + epsilon)).
void rms_norm(base::MatrixView<const float> rows, std::span<const float> weight, float epsilon,
              base::MatrixView<float> out);

struct LayerNorm {
    std::vector<float> weight;
    std::vector<float> bias;
};

/// LayerNorm of every row x of `rows`: out[j] = (x[j] - mean) / sqrt(variance + epsilon) *
/// weight[j] + bias[j], with variance = mean((x - mean)^2). `out` is not `rows`.
void layer_norm(base::MatrixView<const float> rows, const LayerNorm& norm, float epsilon,
                base::MatrixView<float> out);

/// RoPE in Hugging Face's half-rotation form, in place: elements j and j + d/2 of a head of width d
/// turn by the angle whose cosine and sine stand in cosines[j] and sines[j] (d/2 each).
void rotate(std::span<float> head, std::span<const float> cosines, std::span<const float> sines);

/// gate[j] = SiLU(gate[j]) * up[j], with SiLU(x) = x / (1 + exp(-x)).
void swiglu(std::span<float> gate, std::span<const float> up);

/// x[j] = GELU(x[j]) in its tanh form ("gelu_new"): x / 2 (1 + tanh(u)), which is x / (1 + exp(-2
/// u)), with u = sqrt(2 / pi) (x + 0.044715 x^3).
void gelu(std::span<float> x);

/// sum += x, element by element. The two do not overlap.
void add(base::MatrixView<const float> x, base::MatrixView<float> sum);

/// Adds `bias` to every row.
void add_bias(std::span<const float> bias, base::MatrixView<float> rows);

}  // namespace slip::graph
