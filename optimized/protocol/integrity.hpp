// The mandatory integrity check: spec/integrity.md. Accepted replies have a type of their own, and
// only that type can be unmasked (INTEG-5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "optimized/base/check_secret.hpp"
#include "optimized/kernels/combinations.hpp"
#include "optimized/protocol/exchange.hpp"

namespace slip::protocol {

/// The combinations w and, of every group, s = w W_D or, of the hidden split, w W_t (INTEG-1,
/// INTEG-2, HIDE-1), as the kernel reads them. Made once per loaded model; all sessions of the
/// process share it, because a verdict depends on the error and w alone (INTEG-10). Thread-safe.
class IntegrityCheck {
public:
    /// `shapes` are those of the groups' products, as David makes them; nothing is multiplied here.
    /// Throws InternalError unless `secret` has kappa * planes * n residues for each group.
    IntegrityCheck(const base::CheckSecret& secret, std::vector<base::ProductShape> shapes,
                   std::size_t planes);

    std::size_t planes() const { return planes_; }
    const std::vector<base::ProductShape>& shapes() const { return shapes_; }

    /// INTEG-3 for all of `replied`, which is consumed; nothing on a reject. Throws InternalError
    /// if it was moved from.
    std::optional<Checked> check(Replied&& replied) const;

    /// The verdict alone: true iff w y = s x for all kappa combinations in every plane of every
    /// column. An honest reply is always accepted, a wrong one with probability at most
    /// primes[planes - 1]^-kappa (INTEG-4). `masked`: columns of n residues, or of an image's
    /// (CNN-4); `reply`: as many columns of M, or of M for every position. Every column is always
    /// examined, in constant time.
    bool accepts(base::GroupId group, std::span<const std::uint8_t> masked,
                 std::span<const std::uint8_t> reply) const;

private:
    std::size_t planes_;
    std::vector<base::ProductShape> shapes_;
    kernels::Combinations w_;  // of as many entries as the tallest group has rows
    std::vector<kernels::Combinations> companions_;
};

}  // namespace slip::protocol
