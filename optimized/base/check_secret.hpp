// The long-lived secret of the integrity check: spec/integrity.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace slip::base {

/// What the owner drew and computed once, when the model was split (INTEG-1, INTEG-2, MASK-10). A
/// view of bytes that somebody else owns, as secret as the factors.
struct CheckSecret {
    std::span<const std::uint8_t> seed;  // check_seed_bytes, the key of the combinations w
    /// w W_D or, of the hidden split, w W_t (HIDE-1), index = GroupId: kappa x planes x n bytes of
    /// each group, combination after combination.
    std::vector<std::span<const std::uint8_t>> companions;
    /// z W_D, or z W', mod 2^61 - 1 (MASK-10), n entries of 8 bytes, little-endian, for each group
    /// with lattice masks; empty for the others.
    std::vector<std::span<const std::uint8_t>> product_companions;
};

}  // namespace slip::base
