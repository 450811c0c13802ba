// Weights as the products read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/worker_team.hpp"

namespace slip::kernels {

/// A W, or a W_t of a matrix per plane, on a device that multiplies in the place of the processor
/// (optimized/gpu). Thread-safe.
class DeviceMatrix {
public:
    DeviceMatrix() = default;
    DeviceMatrix(const DeviceMatrix&) = delete;
    DeviceMatrix& operator=(const DeviceMatrix&) = delete;
    virtual ~DeviceMatrix() = default;

    /// As WeightMatrix::multiply, of at least one column and row; a team shares the copying. Throws
    /// InternalError if the device fails.
    virtual void multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                          std::size_t planes, base::WorkerTeam* team) const = 0;
};

/// The stacked W_D of a group, |w| <= 127: a view of row-major bytes that somebody else owns, and a
/// copy of them in the layout of the active backend, which is made once, by prepare() or by the
/// first product. Copies of the object share it. The bytes are not read again once it is made.
/// Thread-safe.
class WeightMatrix : public base::MatrixView<const std::int8_t> {
public:
    WeightMatrix() = default;
    WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols);
    WeightMatrix(base::MatrixView<const std::int8_t> w)
        : WeightMatrix(w.data(), w.rows(), w.cols()) {}

    /// From now on the products are the device's. Before any product, and prepare().
    void multiply_on(std::unique_ptr<const DeviceMatrix> device);

    /// Makes the copy, unless a device has one.
    void prepare() const;

    /// Y = W X mod L (LIN-1, MASK-3), in every plane of whole columns of `cols` residues, one after
    /// the other; y has as many columns of `rows`. 1 <= planes <= base::parameters::primes.size().
    /// With a team, it shares the rows of a single column, or the columns.
    void multiply(std::span<const std::uint8_t> x, std::span<std::uint8_t> y, std::size_t planes,
                  base::WorkerTeam* team = nullptr) const;

    /// HIDE-1: Y = W X modulo the prime of one plane, of whole columns of `cols` bytes; y has as
    /// many of `rows`. With a team as above. Throws InternalError where a device multiplies.
    void multiply_plane(std::span<const std::uint8_t> x, std::span<std::uint8_t> y,
                        std::size_t plane, base::WorkerTeam* team = nullptr) const;

    /// The copy: what the processor's products read and nothing else does.
    std::span<const std::int8_t> packed() const;

private:
    struct Packed;
    const base::HugeBuffer& copy() const;
    void multiply_row_parts(const std::uint8_t* x, std::uint8_t* y, std::size_t planes,
                            base::WorkerTeam& team) const;
    void multiply_column_parts(const std::uint8_t* x, std::size_t columns, std::uint8_t* y,
                               std::size_t planes, base::WorkerTeam& team) const;
    std::shared_ptr<Packed> packed_;
};

}  // namespace slip::kernels
