// The seam under the models (MODEL-4): a graph asks an engine for matrix products, floats in and
// floats out, and cannot tell the checkpoint in float from the integer model or from the protocol.
#pragma once

#include <span>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::base {

class Engine {
public:
    virtual ~Engine() = default;

    /// For every row x of `input` and every member i of `group`, writes W_i x to the same row of
    /// `outputs[i]`. A row is what the specification calls a column of X: one token, or one image
    /// (CONV-1, MODEL-3). Shapes: input b x n; outputs[i] b x m_i; one output per member, in the
    /// group's order (LIN-3); biases are the graph's. Throws InternalError on other shapes, and
    /// what the engine's protocol throws.
    virtual void apply(GroupId group, MatrixView<const float> input,
                       std::span<const MatrixView<float>> outputs) = 0;
};

}  // namespace slip::base
