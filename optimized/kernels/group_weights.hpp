// What David does to a column of a message.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/product_shape.hpp"
#include "optimized/kernels/planar_matrix.hpp"
#include "optimized/kernels/weight_matrix.hpp"

namespace slip::kernels {

/// What David multiplies by for a group: the stacked W_D, or, of the hidden split, W_t = [A ; U],
/// which is no view of bytes then. A column x of a message becomes W_D x, W_t x or, where W_D is
/// the kernel matrix of a convolution, the convolution of the image x with it (CNN-4).
class GroupWeights : public WeightMatrix {
public:
    GroupWeights() = default;
    GroupWeights(const std::int8_t* data, std::size_t rows, std::size_t cols)
        : WeightMatrix(data, rows, cols), shape_{rows, cols} {}
    GroupWeights(base::MatrixView<const std::int8_t> w)
        : GroupWeights(w.data(), w.rows(), w.cols()) {}
    /// Throws InternalError unless the kernel matrix is N x patch() and the sizes are within their
    /// limits.
    GroupWeights(base::MatrixView<const std::int8_t> w, const base::Convolution& convolution);

    /// HIDE-1: [A ; U]. Throws InternalError unless both are as wide, of as many planes.
    GroupWeights(PlanarMatrix hidden, PlanarMatrix public_rows);

    /// The shape of the product; W_t has M + ell rows.
    const base::ProductShape& shape() const { return shape_; }
    /// A and U; neither where W_D is in the clear.
    const PlanarMatrix& hidden() const { return hidden_; }
    const PlanarMatrix& public_rows() const { return public_rows_; }

    /// As WeightMatrix::multiply_on(), of all of W_t where it is hidden.
    void multiply_on(std::unique_ptr<const DeviceMatrix> device);

    /// As WeightMatrix::prepare().
    void prepare() const;

    /// LIN-1, MASK-3, CNN-4, mod L: whole columns of shape().inputs() residues of `planes` planes,
    /// one after the other, become as many of shape().outputs(). `planes` and `team` as in
    /// multiply().
    void apply(std::span<const std::uint8_t> columns, std::span<std::uint8_t> out,
               std::size_t planes, base::WorkerTeam* team = nullptr) const;

private:
    base::ProductShape shape_;
    PlanarMatrix hidden_, public_rows_;
    std::shared_ptr<const DeviceMatrix> device_;  // of W_t
};

/// The weights of every group; index = GroupId. The bytes outlive their users. Only work ahead of
/// use (cancellation.hpp, check_secret.hpp) and David read them (MODEL-6).
using OffloadedWeights = std::vector<GroupWeights>;

/// The shapes of every group.
inline std::vector<base::ProductShape> shapes_of(const OffloadedWeights& weights) {
    std::vector<base::ProductShape> shapes;
    for (const GroupWeights& w : weights) shapes.push_back(w.shape());
    return shapes;
}

}  // namespace slip::kernels
