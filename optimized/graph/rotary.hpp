// RoPE: positions as rotations, for the families that have them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::graph {

class RotaryEmbedding {
public:
    /// For every position, the cosines and sines of position * rope_theta^(-2j / rotary_dim).
    /// Requires an even rotary_dim, at most head_dim.
    explicit RotaryEmbedding(const base::ModelConfig& config);

    /// Turns the first rotary_dim elements of every head of every row; row t stands at
    /// positions[t]. Elements j and j + rotary_dim / 2 turn together (Hugging Face's
    /// half-rotation).
    void turn(base::MatrixView<float> heads, std::span<const std::size_t> positions) const;

private:
    std::size_t head_dim_;
    std::size_t rotary_dim_;
    std::vector<float> cosines_;  // position x rotary_dim / 2
    std::vector<float> sines_;
};

}  // namespace slip::graph
