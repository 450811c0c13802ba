// What David does to a column of a message.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "optimized/base/convolution.hpp"
#include "optimized/kernels/weight_matrix.hpp"

namespace slip {

/// The stacked W_D of a group. A column x of a message becomes W_D x or, where W_D is the kernel
/// matrix of a convolution, the convolution of the image x with it (CNN-4).
class GroupWeights : public WeightMatrix {
public:
    GroupWeights() = default;
    GroupWeights(const std::int8_t* data, std::size_t rows, std::size_t cols)
        : WeightMatrix(data, rows, cols) {}
    GroupWeights(MatrixView<const std::int8_t> w)  // NOLINT(google-explicit-constructor)
        : WeightMatrix(w) {}
    /// Throws InternalError unless the kernel matrix is N x patch() and the sizes are within their
    /// limits.
    GroupWeights(MatrixView<const std::int8_t> w, const Convolution& convolution);

    const std::optional<Convolution>& convolution() const { return convolution_; }
    /// Elements of a column of a message, and of what it becomes.
    std::size_t inputs() const { return convolution_ ? convolution_->inputs() : cols(); }
    std::size_t outputs() const { return convolution_ ? convolution_->outputs() : rows(); }
    /// How many columns the matrix multiplies for one column of a message.
    std::size_t positions() const { return convolution_ ? convolution_->positions() : 1; }

    /// LIN-1, MASK-3, CNN-4, mod p: whole columns of inputs() residues, one after the other, become
    /// as many of outputs(). `team` as in multiply().
    template <class P>
    void apply(std::span<const typename P::Residue> columns, std::span<typename P::Residue> out,
               WorkerTeam* team = nullptr) const;

private:
    std::optional<Convolution> convolution_;
};

/// Of every group; index = GroupId. The bytes outlive their users. Only offline work
/// (cancellation.hpp, integrity.hpp) and David read them (MODEL-6).
using OffloadedWeights = std::vector<GroupWeights>;

}  // namespace slip
