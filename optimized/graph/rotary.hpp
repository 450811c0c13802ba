// RoPE: positions as rotations, for the families that have them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/model_shape.hpp"

namespace slip::graph {

/// MODEL-14: the rotations of one RoPE. They are computed once for every batch, so that no table
/// grows with max_position_embeddings.
class RotaryEmbedding {
public:
    /// Requires an even rotary_dim, at most head_dim, and for longrope a factor for each of the
    /// rotary_dim / 2 frequencies.
    RotaryEmbedding(const base::Rope& rope, std::size_t head_dim, std::size_t rotary_dim);

    /// Row t of `turns`: the rotary_dim / 2 cosines of the row at positions[t], then its sines.
    /// `longer[t]` says whether its sequence is longer than longrope's original context; it is not
    /// looked at for the other kinds, and may be empty then.
    void write_turns(std::span<const std::size_t> positions, const std::vector<bool>& longer,
                     base::MatrixView<float> turns) const;

    /// Turns the first rotary_dim elements of every head of every row t by turns.row(t). Elements j
    /// and j + rotary_dim / 2 turn together (Hugging Face's half-rotation).
    void turn(base::MatrixView<float> heads, base::MatrixView<const float> turns) const;

private:
    std::size_t head_dim_;
    std::size_t rotary_dim_;
    double magnitude_;                      // of cosines and sines
    std::vector<double> frequencies_;       // rotary_dim / 2
    std::vector<double> long_frequencies_;  // longrope beyond its original context; else empty
};

}  // namespace slip::graph
