// The mandatory integrity check: spec/integrity.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip {

/// rho and s^T = rho^T W_D of one group for one session (INTEG-1, INTEG-2).
template <class P>
class IntegrityCheck {
public:
    using Residue = typename P::Residue;

    IntegrityCheck(const GroupWeights& weights, std::uint32_t group, KeyStream& keys);

    /// INTEG-3: true iff rho^T y = s^T x for all kappa repetitions and every column. An honest
    /// reply is always accepted, a reply with one wrong column with probability p^-kappa (INTEG-4).
    /// `masked`: columns of n residues, or of an image's (CNN-4); `reply`: as many columns of M, or
    /// of M a position. One verdict; every column is always examined.
    bool accepts(std::span<const Residue> masked, std::span<const Residue> reply) const;

private:
    std::size_t n_ = 0;
    std::size_t rows_ = 0;
    std::optional<Convolution> convolution_;
    SecretBuffer<Residue> rho_;  // kappa x M
    SecretBuffer<Residue> s_;    // kappa x n
};

}  // namespace slip
