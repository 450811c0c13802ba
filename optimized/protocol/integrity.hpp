// The mandatory integrity check: spec/integrity.md. Accepted replies have a type of their own, and
// only that type can be unmasked (INTEG-5).
#pragma once

#include <optional>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/exchange.hpp"

namespace slip::protocol {

/// rho and s^T = rho^T W_D of one group for one session (INTEG-1, INTEG-2), which a reject ends:
/// whoever has the check destroys it then (INTEG-6).
template <class P>
class IntegrityCheck {
public:
    using Residue = typename P::Residue;

    /// Draws rho from the stream of the session's key that is the group's.
    IntegrityCheck(const kernels::GroupWeights& weights, base::GroupId group, KeyStream& keys);

    /// INTEG-3 for all of `answered`, which is consumed; nothing on a reject. Throws InternalError
    /// if it is of another group or was moved from.
    std::optional<Checked<P>> check(Answered<P>&& answered) const;

    /// The verdict alone: true iff rho^T y = s^T x for all kappa repetitions and every column. An
    /// honest reply is always accepted, a reply with one wrong column with probability p^-kappa
    /// (INTEG-4). `masked`: columns of n residues, or of an image's (CNN-4); `reply`: as many
    /// columns of M, or of M for every position. Every column is always examined, in constant time.
    bool accepts(std::span<const Residue> masked, std::span<const Residue> reply) const;

private:
    base::GroupId group_;
    base::ProductShape shape_;
    // One repetition after the other, as the dot products read them.
    base::SecretBuffer<Residue> rho_;  // kappa x M
    base::SecretBuffer<Residue> s_;    // kappa x n
};

extern template class IntegrityCheck<P31>;

}  // namespace slip::protocol
