// What is left of a convolutional network when the top singular components of its matrices are
// taken away, with the kernel matrix of a convolution or its dense matrix as the matrix (CNN-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "optimized/base/model_shape.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/singular_components.hpp"
#include "slip/image_classifier.hpp"

namespace slip::convolution {

enum class Form {
    kernel,  // N x (kH kW C): what artifacts hold
    dense,   // (H_o W_o N) x (H W C): what the paper's appendix writes
};

/// One offloaded layer as the matrix that is split, with all its singular components.
struct Matrix {
    base::GroupShape group;  // of the matrix: a dense one is no convolution any more
    std::size_t positions;   // output positions that a component is applied to per image
    std::vector<float> w;    // m x n
    splitting::Components components;

    std::size_t m() const { return group.members.front().m; }
    std::size_t n() const { return group.n; }
    std::size_t full_rank() const { return components.sigma.size(); }
};

/// The convolutions and linear layers of a network in one form. A linear layer is its own matrix in
/// both. Takes about a minute for matrices of 3000 x 1500.
class Layers {
public:
    /// `checkpoint` holds a network and outlives this.
    Layers(const importing::Checkpoint& checkpoint, Form form);

    const std::vector<Matrix>& matrices() const { return matrices_; }
    /// round(share * rank) of every matrix, or of the convolutions alone: then 0 for the others.
    std::vector<std::size_t> ranks(double share, bool convolutions_only) const;
    /// Charlie's multiplications per image: positions k (m + n) of every matrix.
    std::uint64_t charlie_multiplications(const std::vector<std::size_t>& ranks) const;
    /// The network of `model`, a file that holds this network, without the top components of
    /// each matrix, as many as `ranks` says; in float32, biases as they are.
    ImageClassifier without(const std::vector<std::size_t>& ranks,
                            const std::filesystem::path& model) const;

private:
    std::vector<Matrix> matrices_;
    std::vector<bool> is_convolution_;
};

}  // namespace slip::convolution
