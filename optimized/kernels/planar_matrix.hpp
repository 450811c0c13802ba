// Weights that differ from plane to plane: what David has of a hidden matrix (HIDE-1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "optimized/kernels/weight_matrix.hpp"

namespace slip::kernels {

/// A matrix mod L: for each plane the representatives of least magnitude modulo its prime, |w| <=
/// 125. Copies share what is packed. Thread-safe.
class PlanarMatrix {
public:
    PlanarMatrix() = default;
    /// One matrix per plane, of one shape, or throws InternalError.
    explicit PlanarMatrix(std::vector<WeightMatrix> planes);

    std::size_t planes() const { return planes_.size(); }
    std::size_t rows() const { return planes_.empty() ? 0 : planes_.front().rows(); }
    std::size_t cols() const { return planes_.empty() ? 0 : planes_.front().cols(); }
    const WeightMatrix& plane(std::size_t p) const { return planes_[p]; }

    /// Makes the copies that products read; what the planes are views of is not read again.
    void prepare() const;

private:
    std::vector<WeightMatrix> planes_;
};

/// HIDE-1: W_t x mod L for whole columns x, one after the other, W_t = [upper ; lower]: of each
/// column the planes one after the other, those of the product with the rows of `upper` first.
void multiply_stacked(const PlanarMatrix& upper, const PlanarMatrix& lower,
                      std::span<const std::uint8_t> columns, std::span<std::uint8_t> products,
                      base::WorkerTeam* team);

}  // namespace slip::kernels
