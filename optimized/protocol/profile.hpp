// The profile, PARAM-1, and what fits a message, PARAM-3.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "optimized/base/parameters.hpp"
#include "optimized/base/product_shape.hpp"
#include "optimized/kernels/contracts.hpp"

namespace slip::protocol {

using kernels::P31;

/// Repetitions of the integrity check. A wrong column is accepted with probability p^-kappa,
/// (2^31 - 1)^-2.
template <class P>
inline constexpr std::size_t kappa = base::parameters::p31.kappa;

/// Columns that fit one message to a group of this shape, such that APPLY and REPLY stay within
/// PARAM-3; 0 if not one fits. Requires: a column has at least one element, before and after.
template <class P>
std::size_t columns_that_fit(const base::ProductShape& shape) {
    const std::size_t longest = std::max(shape.inputs(), shape.outputs());
    return std::min(base::parameters::largest_columns, base::parameters::largest_residue_bytes /
                                                           (sizeof(typename P::Residue) * longest));
}

/// SHA-256 of David's weight file (SESS-2).
using Digest = std::array<std::uint8_t, 32>;

}  // namespace slip::protocol
