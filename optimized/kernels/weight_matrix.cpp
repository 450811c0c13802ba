#include "optimized/kernels/weight_matrix.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::kernels {

using base::HugeBuffer;
using base::require;
using base::WorkerTeam;

struct WeightMatrix::Packed {
    std::once_flag once;
    std::unique_ptr<HugeBuffer> bytes;
};

WeightMatrix::WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols)
    : MatrixView(data, rows, cols), packed_(std::make_shared<Packed>()) {}

template <class P>
const HugeBuffer& WeightMatrix::copy() const {
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    std::call_once(packed_->once, [&] {
        const auto& kernels = kernels::active().of<P>();
        auto bytes = std::make_unique<HugeBuffer>(kernels.packed_bytes(rows(), cols()));
        kernels.pack(data(), rows(), cols(), bytes->template as<PackedWeights>());
        packed_->bytes = std::move(bytes);
    });
    return *packed_->bytes;
}

template <class P>
std::span<const std::int8_t> WeightMatrix::packed() const {
    return copy<P>().span();
}

/// A single column's rows in several parts per thread, so that whoever is slower takes fewer;
/// columns in one part a thread, because each part reads all of W.
template <class P>
void WeightMatrix::multiply_shared(const typename P::Residue* x, std::size_t columns,
                                   typename P::Residue* y, WorkerTeam& team) const {
    const auto& kernels = kernels::active().of<P>();
    const auto* const w = copy<P>().template as<PackedWeights>();
    const auto cut = [](std::size_t whole, std::size_t unit, std::size_t parts) {
        const std::size_t units = (whole + unit - 1) / unit;
        return (units + parts - 1) / parts * unit;  // what one part has of the whole
    };
    if (columns == 1) {
        const std::size_t part = cut(rows(), rows_apart, 4 * team.threads());
        team.run((rows() + part - 1) / part, [&](std::size_t i) {
            const std::size_t first = i * part;
            kernels.gemm(w + kernels.packed_bytes(first, cols()), std::min(part, rows() - first),
                         cols(), x, 1, y + first);
        });
    } else {
        const std::size_t part = cut(columns, 1, team.threads());
        team.run((columns + part - 1) / part, [&](std::size_t i) {
            const std::size_t first = i * part;
            kernels.gemm(w, rows(), cols(), x + first * cols(), std::min(part, columns - first),
                         y + first * rows());
        });
    }
}

template <class P>
void WeightMatrix::multiply(std::span<const typename P::Residue> x,
                            std::span<typename P::Residue> y, WorkerTeam* team) const {
    require(cols() > 0 && x.size() % cols() == 0, "WeightMatrix::multiply: not whole columns");
    const std::size_t columns = x.size() / cols();
    require(y.size() == columns * rows(), "WeightMatrix::multiply: the size of the product");
    if (team != nullptr && team->threads() > 1 && columns > 0 && rows() > 0) {
        return multiply_shared<P>(x.data(), columns, y.data(), *team);
    }
    kernels::active().of<P>().gemm(copy<P>().template as<PackedWeights>(), rows(), cols(), x.data(),
                                   columns, y.data());
}

template <class P>
void WeightMatrix::check_vector(std::span<const typename P::Residue> rho,
                                std::span<typename P::Residue> s) const {
    require(rho.size() == rows() && s.size() == cols(), "WeightMatrix::check_vector: sizes");
    const auto* const w = copy<P>().template as<PackedWeights>();
    kernels::active().of<P>().check_vector(w, rows(), cols(), rho.data(), s.data());
}

template std::span<const std::int8_t> WeightMatrix::packed<P31>() const;
template void WeightMatrix::multiply<P31>(std::span<const P31::Residue>, std::span<P31::Residue>,
                                          WorkerTeam*) const;
template void WeightMatrix::check_vector<P31>(std::span<const P31::Residue>,
                                              std::span<P31::Residue>) const;

}  // namespace slip::kernels
