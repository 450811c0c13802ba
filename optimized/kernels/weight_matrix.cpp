#include "optimized/kernels/weight_matrix.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/huge_buffer.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip {

struct WeightMatrix::Packed {
    struct Copy {
        std::once_flag once;
        std::unique_ptr<HugeBuffer> bytes;
    };
    template <class P>
    Copy& of() {
        return P::bits == kernels::P31::bits ? p31 : p61;
    }
    Copy p31;
    Copy p61;
};

WeightMatrix::WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols)
    : MatrixView(data, rows, cols), packed_(std::make_shared<Packed>()) {}

template <class P>
std::span<const std::int8_t> WeightMatrix::packed() const {
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    auto& copy = packed_->of<P>();
    std::call_once(copy.once, [&] {
        const auto& kernels = kernels::active().of<P>();
        auto bytes = std::make_unique<HugeBuffer>(kernels.packed_bytes(rows(), cols()));
        kernels.pack(data(), rows(), cols(), bytes->data());
        copy.bytes = std::move(bytes);
    });
    return copy.bytes->span();
}

/// A single column's rows in several parts a thread, so that whoever is slower takes fewer; columns
/// in one part a thread, because each part reads all of W.
template <class P>
void WeightMatrix::multiply_shared(const typename P::Residue* x, std::size_t columns,
                                   typename P::Residue* y, WorkerTeam& team) const {
    const auto& kernels = kernels::active().of<P>();
    const std::int8_t* const w = packed<P>().data();
    const auto cut = [](std::size_t whole, std::size_t unit, std::size_t parts) {
        const std::size_t units = (whole + unit - 1) / unit;
        return (units + parts - 1) / parts * unit;  // what one part has of the whole
    };
    if (columns == 1) {
        const std::size_t part = cut(rows(), kernels::rows_apart, 4 * team.threads());
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
    kernels::active().of<P>().gemm(packed<P>().data(), rows(), cols(), x.data(), columns, y.data());
}

template <class P>
void WeightMatrix::check_vector(std::span<const typename P::Residue> rho,
                                std::span<typename P::Residue> s) const {
    require(rho.size() == rows() && s.size() == cols(), "WeightMatrix::check_vector: sizes");
    kernels::active().of<P>().check_vector(packed<P>().data(), rows(), cols(), rho.data(),
                                           s.data());
}

#define SLIP_INSTANTIATE(P)                                                                     \
    template std::span<const std::int8_t> WeightMatrix::packed<P>() const;                      \
    template void WeightMatrix::multiply<P>(std::span<const P::Residue>, std::span<P::Residue>, \
                                            WorkerTeam*) const;                                 \
    template void WeightMatrix::check_vector<P>(std::span<const P::Residue>,                    \
                                                std::span<P::Residue>) const
SLIP_INSTANTIATE(kernels::P31);
SLIP_INSTANTIATE(kernels::P61);
#undef SLIP_INSTANTIATE

}  // namespace slip
