#include "optimized/protocol/check_vectors.hpp"

namespace slip::protocol {

template <class P>
base::SecretBuffer<typename P::Residue> draw_rho(KeyStream& keys, base::GroupId group,
                                                 std::size_t rows,
                                                 base::SecretBuffer<typename P::Residue>& scratch) {
    using Residue = typename P::Residue;
    base::SecretBuffer<Residue> rho(kappa<P> * rows);
    if (scratch.size() < rho.size()) scratch = base::SecretBuffer<Residue>(rho.size());
    const auto stream = scratch.span().first(rho.size());
    keys.draw<P>(StreamTag::integrity, group, stream);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < kappa<P>; ++k) rho[k * rows + i] = stream[i * kappa<P> + k];
    }
    return rho;
}

template <class P>
CheckVectors<P> make_check_vectors(const kernels::GroupWeights& weights, base::GroupId group,
                                   KeyStream& keys) {
    const std::size_t rows = weights.shape().rows;
    const std::size_t n = weights.shape().n;
    base::SecretBuffer<typename P::Residue> scratch;
    CheckVectors<P> vectors{draw_rho<P>(keys, group, rows, scratch),
                            base::SecretBuffer<typename P::Residue>(kappa<P> * n)};
    for (std::size_t k = 0; k < kappa<P>; ++k) {  // INTEG-2: s^T = rho^T W_D
        weights.check_vector<P>(vectors.rho.span().subspan(k * rows, rows),
                                vectors.s.span().subspan(k * n, n));
    }
    return vectors;
}

template base::SecretBuffer<P31::Residue> draw_rho<P31>(KeyStream&, base::GroupId, std::size_t,
                                                        base::SecretBuffer<P31::Residue>&);
template base::SecretBuffer<P61::Residue> draw_rho<P61>(KeyStream&, base::GroupId, std::size_t,
                                                        base::SecretBuffer<P61::Residue>&);
template CheckVectors<P31> make_check_vectors(const kernels::GroupWeights&, base::GroupId,
                                              KeyStream&);
template CheckVectors<P61> make_check_vectors(const kernels::GroupWeights&, base::GroupId,
                                              KeyStream&);

}  // namespace slip::protocol
