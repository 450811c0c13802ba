// The secret of a block of lattice masks (MASK-7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// Whether all magnitudes are at most `largest`. All are looked at: no branch depends on one.
bool all_small(std::span<const std::int8_t> small, int largest);

/// S in R^d, small, in the form that products need: its values at roots of unity. They are wiped at
/// the end. Any backend multiplies what any backend has transformed.
class BlockSecret {
public:
    /// `small` are d elements of `degree` coefficients each; the caller wipes them. Requires: 1 <=
    /// d
    /// <= most_elements, magnitudes of at most `largest`, and 1 <= largest <= largest_secret, or
    /// throws InternalError.
    explicit BlockSecret(std::span<const std::int8_t> small, int largest = largest_secret,
                         const Backend& backend = active());

    std::size_t elements() const { return spectrum_.size() / degree; }  // d
    int largest() const { return largest_; }
    /// As Pass::secrets.
    const double* spectrum() const { return spectrum_.data(); }

private:
    int largest_;
    base::SecretBuffer<double> spectrum_;
};

}  // namespace slip::masks
