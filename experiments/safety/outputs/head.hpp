// The last matrix of a model as a split has it, and the states that come to it.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "optimized/import/checkpoint.hpp"

namespace slip::outputs {

/// vocabulary x n, except for the vectors.
struct Head {
    Eigen::MatrixXd weights;    ///< the checkpoint's
    Eigen::MatrixXd integers;   ///< the integer model: W_int, or W' of the hidden split
    Eigen::VectorXd row_scale;  ///< of the integers
    Eigen::MatrixXd davids;  ///< W_D, or A of the hidden split, lifted and divided by its maximum
    std::int32_t norm = 0;   ///< of activations
};

/// The head of a checkpoint, split with this rank, or hidden; then `rank` has no meaning.
Head head_of(const importing::Checkpoint& checkpoint, const std::string& split, std::size_t rank,
             std::mt19937_64& random);

/// Final states and what the split's head makes of them; a column per state.
struct States {
    Eigen::MatrixXd hidden;  ///< n x N, as they are multiplied
    Eigen::MatrixXd logits;  ///< vocabulary x N, binary32 as the engines give them
};

/// After random tokens, 1 to 48 of them, as far as the model has room. The blocks are computed in
/// float32.
States states_of(const importing::Checkpoint& checkpoint, const Head& head, std::size_t count,
                 std::mt19937_64& random);

}  // namespace slip::outputs
