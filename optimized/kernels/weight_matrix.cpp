#include "optimized/kernels/weight_matrix.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::kernels {

using base::HugeBuffer;
using base::require;
using base::WorkerTeam;

struct WeightMatrix::Packed {
    struct Copy {
        std::once_flag once;
        std::unique_ptr<HugeBuffer> bytes;
    };
    struct Copies {
        Copy whole, half;
    };
    template <class P>
    Copies& of() {
        return P::bits == P31::bits ? p31 : p61;
    }
    Copies p31;
    Copies p61;
    std::once_flag once;
    bool is_small = false;  // every |w| <= largest_small_weight
};

/// How a backend packs weights, in bytes or in half bytes, and multiplies with them.
template <class P, class Element>
struct WeightMatrix::Format {
    using Residue = typename P::Residue;
    Packed::Copy& copy;
    std::size_t (*packed_bytes)(std::size_t m, std::size_t n);
    void (*pack)(const std::int8_t* w, std::size_t m, std::size_t n, Element* packed);
    void (*gemm)(const Element* packed, std::size_t m, std::size_t n, const Residue* x,
                 std::size_t b, Residue* y);
};

WeightMatrix::WeightMatrix(const std::int8_t* data, std::size_t rows, std::size_t cols)
    : MatrixView(data, rows, cols), packed_(std::make_shared<Packed>()) {}

template <class P>
WeightMatrix::Format<P, PackedWeights> WeightMatrix::in_bytes() const {
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    const auto& kernels = kernels::active().of<P>();
    return {packed_->of<P>().whole, kernels.packed_bytes, kernels.pack, kernels.gemm};
}

/// use(format) with the one that the products have.
template <class P, class Use>
decltype(auto) WeightMatrix::with_format(const Use& use) const {
    const auto& kernels = kernels::active().of<P>();
    if (kernels.gemm4 == nullptr) return use(in_bytes<P>());
    require(packed_ != nullptr, "WeightMatrix: there are no weights");
    std::call_once(packed_->once, [&] {
        const auto w = elements();
        packed_->is_small = std::all_of(w.begin(), w.end(), [](std::int8_t weight) {
            return std::abs(int{weight}) <= base::parameters::largest_small_weight;
        });
    });
    if (!packed_->is_small) return use(in_bytes<P>());
    return use(Format<P, PackedHalves>{packed_->of<P>().half, kernels.packed4_bytes, kernels.pack4,
                                       kernels.gemm4});
}

template <class P, class Element>
const HugeBuffer& WeightMatrix::packed(const Format<P, Element>& format) const {
    std::call_once(format.copy.once, [&] {
        auto bytes = std::make_unique<HugeBuffer>(format.packed_bytes(rows(), cols()));
        format.pack(data(), rows(), cols(), bytes->template as<Element>());
        format.copy.bytes = std::move(bytes);
    });
    return *format.copy.bytes;
}

template <class P>
std::span<const std::int8_t> WeightMatrix::packed() const {
    return with_format<P>([&](const auto& format) { return packed(format).span(); });
}

/// A single column's rows in several parts per thread, so that whoever is slower takes fewer;
/// columns in one part a thread, because each part reads all of W.
template <class P, class Element>
void WeightMatrix::multiply_shared(const Format<P, Element>& weights, const typename P::Residue* x,
                                   std::size_t columns, typename P::Residue* y,
                                   WorkerTeam& team) const {
    const auto* const w = packed(weights).template as<Element>();
    const auto cut = [](std::size_t whole, std::size_t unit, std::size_t parts) {
        const std::size_t units = (whole + unit - 1) / unit;
        return (units + parts - 1) / parts * unit;  // what one part has of the whole
    };
    if (columns == 1) {
        const std::size_t part = cut(rows(), rows_apart, 4 * team.threads());
        team.run((rows() + part - 1) / part, [&](std::size_t i) {
            const std::size_t first = i * part;
            weights.gemm(w + weights.packed_bytes(first, cols()), std::min(part, rows() - first),
                         cols(), x, 1, y + first);
        });
    } else {
        const std::size_t part = cut(columns, 1, team.threads());
        team.run((columns + part - 1) / part, [&](std::size_t i) {
            const std::size_t first = i * part;
            weights.gemm(w, rows(), cols(), x + first * cols(), std::min(part, columns - first),
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
    const bool shared = team != nullptr && team->threads() > 1 && columns > 0 && rows() > 0;
    with_format<P>([&]<class Element>(const Format<P, Element>& weights) {
        if (shared) return multiply_shared(weights, x.data(), columns, y.data(), *team);
        weights.gemm(packed(weights).template as<Element>(), rows(), cols(), x.data(), columns,
                     y.data());
    });
}

template <class P>
void WeightMatrix::check_vector(std::span<const typename P::Residue> rho,
                                std::span<typename P::Residue> s) const {
    require(rho.size() == rows() && s.size() == cols(), "WeightMatrix::check_vector: sizes");
    const auto* const w = packed(in_bytes<P>()).template as<PackedWeights>();
    kernels::active().of<P>().check_vector(w, rows(), cols(), rho.data(), s.data());
}

#define SLIP_INSTANTIATE(P)                                                                     \
    template std::span<const std::int8_t> WeightMatrix::packed<P>() const;                      \
    template void WeightMatrix::multiply<P>(std::span<const P::Residue>, std::span<P::Residue>, \
                                            WorkerTeam*) const;                                 \
    template void WeightMatrix::check_vector<P>(std::span<const P::Residue>,                    \
                                                std::span<P::Residue>) const
SLIP_INSTANTIATE(P31);
SLIP_INSTANTIATE(P61);
#undef SLIP_INSTANTIATE

}  // namespace slip::kernels
