// rho and s, from which the integrity check of a life is made: drawn and computed here, or kept
// from one session to the next.
#pragma once

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip::protocol {

/// Of one group: kappa repetitions, one after the other, as the dot products read them.
template <class P>
struct CheckVectors {
    base::SecretBuffer<typename P::Residue> rho;  // kappa x M
    base::SecretBuffer<typename P::Residue> s;    // kappa x n: s^T = rho^T W_D
};

/// INTEG-1: rho of a group with so many rows. The stream gives row by row the residues of all
/// repetitions; here is one repetition after the other. `scratch` grows as needed. Callers keep
/// it for all groups: reserving and locking secret memory for each takes a third of the opening.
template <class P>
base::SecretBuffer<typename P::Residue> draw_rho(KeyStream& keys, base::GroupId group,
                                                 std::size_t rows,
                                                 base::SecretBuffer<typename P::Residue>& scratch);

/// INTEG-1 and INTEG-2, the only use of W_D by a Charlie whose cancellations come from elsewhere.
template <class P>
CheckVectors<P> make_check_vectors(const kernels::GroupWeights& weights, base::GroupId group,
                                   KeyStream& keys);

}  // namespace slip::protocol
