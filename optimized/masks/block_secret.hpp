// The secret of a block of lattice masks (MASK-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// S in R^d, small, in the form that products need: its values at roots of unity. They are wiped at
/// the end. Any backend multiplies what any backend has transformed.
class BlockSecret {
public:
    /// `small` are d elements of `degree` coefficients each; the caller wipes them. Requires: 1 <=
    /// d
    /// <= most_elements and magnitudes of at most largest_secret, or throws InternalError.
    explicit BlockSecret(std::span<const std::int8_t> small, const Backend& backend = active());

    std::size_t elements() const { return spectrum_.size() / degree; }  // d
    /// As Pass::secrets.
    const double* spectrum() const { return spectrum_.data(); }

private:
    base::SecretBuffer<double> spectrum_;
};

}  // namespace slip::masks
