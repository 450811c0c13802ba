// A convolutional layer as a fully connected layer (the paper's appendix `cnn`), the same by
// patches, and the masked image.
#pragma once

#include <Eigen/Core>
#include <cstddef>

#include "reference/integer.hpp"
#include "reference/ring.hpp"

namespace slip::reference {

/// CNN-1. The sizes of a convolution. Stride 1 and padding 0 are the appendix's.
struct ConvolutionShape {
    std::size_t H, W, C;  ///< the input, H x W positions of C channels
    std::size_t kH, kW;   ///< the kernel's window
    std::size_t N;        ///< filters
    std::size_t stride = 1;
    std::size_t padding = 0;  ///< zeros on each side, in both directions

    std::size_t H_o() const { return (H + 2 * padding - kH) / stride + 1; }
    std::size_t W_o() const { return (W + 2 * padding - kW) / stride + 1; }
    std::size_t inputs() const { return H * W * C; }
    std::size_t outputs() const { return H_o() * W_o() * N; }
    std::size_t patch() const { return kH * kW * C; }

    /// CNN-1. Position of X(i, j, c) in vec(X); i, j, c and all indices here start at 0.
    std::size_t input_index(std::size_t i, std::size_t j, std::size_t c) const {
        return (i * W + j) * C + c;
    }

    /// CNN-1. Position of O(i, j, n) in vec(O).
    std::size_t output_index(std::size_t i, std::size_t j, std::size_t n) const {
        return (i * W_o() + j) * N + n;
    }

    /// CNN-3. Column of K(u, v, c, n) in row n of the kernel matrix.
    std::size_t patch_index(std::size_t u, std::size_t v, std::size_t c) const {
        return (u * kW + v) * C + c;
    }
};

/// Error: an empty size, a stride of 0, or a window larger than the padded input.
void require_valid(const ConvolutionShape& shape);

/// CNN-1. The convolution by its formula, for vec(X) and the N x (kH kW C) kernel matrix of K:
///
///     O(i, j, n) = sum_{c,u,v} X(i + u, j + v, c) K(u, v, c, n)
///
/// with X(i stride + u - padding, ...), zero outside, where stride or padding say so.
/// Returns vec(O). Error: sizes that do not fit.
Vector convolve(const ConvolutionShape& shape, const Matrix& kernel, const Vector& x);

/// CNN-2. The equivalent fully connected layer: W is (H_o W_o N) x (H W C) with
///
///     W((i, j, n), (i + u, j + v, c)) = K(u, v, c, n),   0 elsewhere
///
/// so that vec(O) = W vec(X). Error: sizes that do not fit.
Matrix dense_matrix(const ConvolutionShape& shape, const Matrix& kernel);

/// CNN-2. The same for a real kernel matrix, to be decomposed.
Eigen::MatrixXd dense_matrix(const ConvolutionShape& shape, const Eigen::MatrixXd& kernel);

/// CNN-3. The patches of X as columns, (kH kW C) x (H_o W_o): the kernel matrix times this is the
/// N x (H_o W_o) matrix of O(i, j, n). Error: sizes that do not fit.
Matrix patches(const ConvolutionShape& shape, const Vector& x);

/// CNN-3. vec(O) of the N x (H_o W_o) matrix kernel * patches. Error: another shape.
Vector from_patches(const ConvolutionShape& shape, const Matrix& by_position);

/// CNN-4. David: the convolution of the masked image, mod L. Equal to dense_matrix * x~ mod L.
Vector davids_convolution(const Ring& ring, const ConvolutionShape& shape, const Matrix& kernel,
                          const Vector& x_masked);

/// CNN-5. Charlie's part of a kernel matrix 2^t W_D + A B: A (B patches), vec of an output.
/// Error: sizes that do not fit.
Vector charlies_convolution(const ConvolutionShape& shape, const Matrix& A, const Matrix& B,
                            const Vector& q);

}  // namespace slip::reference
