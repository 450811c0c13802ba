// The mandatory integrity check: spec/integrity.md.
#pragma once

#include <cstdint>
#include <span>

#include "optimized/base/matrix_view.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/mask_stream.hpp"

namespace slip {

/// rho and s^T = rho^T W_D of one group for one session (INTEG-1, INTEG-2).
class IntegrityCheck {
public:
    IntegrityCheck(MatrixView<const std::int8_t> weights, std::uint32_t group, KeyStream& keys);

    /// INTEG-3: true iff rho^T y = s^T x for both repetitions and every column. An honest reply is
    /// always accepted, a reply with one wrong column with probability p^-2 (INTEG-4). `masked`:
    /// columns of n residues; `reply`: as many columns of M. One verdict; every column is always
    /// examined.
    bool accepts(std::span<const std::uint32_t> masked, std::span<const std::uint32_t> reply) const;

private:
    std::size_t n_ = 0;
    std::size_t rows_ = 0;
    SecretBuffer<std::uint32_t> rho_;  // kappa x M
    SecretBuffer<std::uint32_t> s_;    // kappa x n
};

}  // namespace slip
