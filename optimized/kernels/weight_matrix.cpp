#include "optimized/kernels/weight_matrix.hpp"

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

template <class P>
void WeightMatrix::multiply(std::span<const typename P::Residue> x,
                            std::span<typename P::Residue> y) const {
    require(cols() > 0 && x.size() % cols() == 0, "WeightMatrix::multiply: not whole columns");
    const std::size_t columns = x.size() / cols();
    require(y.size() == columns * rows(), "WeightMatrix::multiply: the size of the product");
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
    template void WeightMatrix::multiply<P>(std::span<const P::Residue>, std::span<P::Residue>) \
        const;                                                                                  \
    template void WeightMatrix::check_vector<P>(std::span<const P::Residue>,                    \
                                                std::span<P::Residue>) const
SLIP_INSTANTIATE(kernels::P31);
SLIP_INSTANTIATE(kernels::P61);
#undef SLIP_INSTANTIATE

}  // namespace slip
