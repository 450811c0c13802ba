#include "optimized/protocol/check_vectors.hpp"

namespace slip::protocol {

template <class P>
CheckVectors<P> make_check_vectors(const kernels::GroupWeights& weights, base::GroupId group,
                                   KeyStream& keys) {
    using Residues = base::SecretBuffer<typename P::Residue>;
    const std::size_t rows = weights.shape().rows;
    const std::size_t n = weights.shape().n;
    CheckVectors<P> vectors{Residues(kappa<P> * rows), Residues(kappa<P> * n)};
    // INTEG-1: the stream gives row by row the residues of all repetitions.
    Residues stream(vectors.rho.size());
    keys.draw<P>(StreamTag::integrity, group, stream.span());
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < kappa<P>; ++k) {
            vectors.rho[k * rows + i] = stream[i * kappa<P> + k];
        }
    }
    for (std::size_t k = 0; k < kappa<P>; ++k) {  // INTEG-2: s^T = rho^T W_D
        weights.check_vector<P>(vectors.rho.span().subspan(k * rows, rows),
                                vectors.s.span().subspan(k * n, n));
    }
    return vectors;
}

template CheckVectors<P31> make_check_vectors(const kernels::GroupWeights&, base::GroupId,
                                              KeyStream&);
template CheckVectors<P61> make_check_vectors(const kernels::GroupWeights&, base::GroupId,
                                              KeyStream&);

}  // namespace slip::protocol
