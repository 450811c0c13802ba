#include "optimized/kernels/group_weights.hpp"

#include "optimized/base/error.hpp"

namespace slip::kernels {

using base::require;
using base::WorkerTeam;

GroupWeights::GroupWeights(base::MatrixView<const std::int8_t> w,
                           const base::Convolution& convolution)
    : WeightMatrix(w), shape_{w.rows(), w.cols(), convolution} {
    require(base::within_limits(convolution), "GroupWeights: the sizes of a convolution");
    require(w.rows() == convolution.N && w.cols() == convolution.patch(),
            "GroupWeights: a kernel matrix is N x (kH kW C)");
}

template <class P>
void GroupWeights::apply(std::span<const typename P::Residue> columns,
                         std::span<typename P::Residue> out, WorkerTeam* team) const {
    const std::size_t inputs = shape_.inputs();
    require(inputs > 0 && columns.size() % inputs == 0, "GroupWeights::apply: whole columns");
    require(out.size() == columns.size() / inputs * shape_.outputs(),
            "GroupWeights::apply: the result");
    base::for_each_multiplied(shape_, columns, [&](auto multiplied, std::size_t first) {
        multiply<P>(multiplied, out.subspan(first * rows(), multiplied.size() / cols() * rows()),
                    team);
    });
}

template void GroupWeights::apply<P31>(std::span<const P31::Residue>, std::span<P31::Residue>,
                                       WorkerTeam*) const;

}  // namespace slip::kernels
