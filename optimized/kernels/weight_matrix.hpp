// Weights as the products read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "optimized/base/huge_buffer.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip::kernels {

/// The stacked W_D of a group, |w| <= 127: a view of row-major bytes that somebody else owns, and a
/// copy of them in the layout of the active backend, which is made once, by prepare() or by the
/// first product. Copies of the object share it. The bytes are not read again once it is made.
/// Thread-safe.
class WeightMatrix : public base::MatrixView<const std::int8_t> {
public:
    WeightMatrix() = default;
    WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols);
    WeightMatrix(base::MatrixView<const std::int8_t> w)  // NOLINT(google-explicit-constructor)
        : WeightMatrix(w.data(), w.rows(), w.cols()) {}

    /// Makes the copy.
    template <class P>
    void prepare() const {
        packed<P>();
    }

    /// Y = W X mod p (LIN-1, MASK-3) for whole columns of `cols` residues, one after the other; y
    /// has as many columns of `rows`. With a team, it shares the rows of a single column, or the
    /// columns.
    template <class P>
    void multiply(std::span<const typename P::Residue> x, std::span<typename P::Residue> y,
                  base::WorkerTeam* team = nullptr) const;

    /// s = rho^T W mod p (INTEG-2) for `rows` elements of rho and `cols` of s.
    template <class P>
    void check_vector(std::span<const typename P::Residue> rho,
                      std::span<typename P::Residue> s) const;

    /// The copy: what the products read and nothing else does.
    template <class P>
    std::span<const std::int8_t> packed() const;

private:
    struct Packed;
    template <class P>
    const base::HugeBuffer& copy() const;
    template <class P>
    void multiply_shared(const typename P::Residue* x, std::size_t columns, typename P::Residue* y,
                         base::WorkerTeam& team) const;
    std::shared_ptr<Packed> packed_;
};

}  // namespace slip::kernels
