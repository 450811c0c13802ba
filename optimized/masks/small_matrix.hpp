// The secret V of a hidden matrix, and its products with single columns (HIDE-4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::masks {

/// A matrix of small ring elements in the form that products need, wiped at the end. It multiplies
/// on the backend that transformed it. Thread-safe.
class SmallMatrix {
public:
    /// What a product writes on its way; for one thread at a time, and wiped at the end.
    using Workspace = base::SecretBuffer<std::byte>;

    /// `small`: rows of `elements` elements of `degree` coefficients each; the caller wipes them.
    /// Requires: whole rows, 1 <= elements <= most_elements, magnitudes of at most 1, or throws
    /// InternalError.
    SmallMatrix(std::span<const std::int8_t> small, std::size_t elements,
                const Backend& backend = active());

    std::size_t rows() const { return rows_; }
    std::size_t elements() const { return elements_; }
    Workspace workspace() const { return Workspace(backend_->workspace_bytes(elements_, 1)); }

    /// HIDE-4: of V^T y, the first entries modulo each prime, canonical: plane after plane,
    /// out.size() / planes of them. Exact. `y`: elements() * degree integers. Requires: |y| < 2^47,
    /// one of this matrix's workspaces, planes <= most_planes and at most rows() * degree entries,
    /// or throws InternalError.
    void multiply(std::span<const std::int64_t> y, std::size_t planes, Workspace& workspace,
                  std::span<std::uint8_t> out) const;

private:
    const Backend* backend_;
    std::size_t rows_, elements_;
    base::SecretBuffer<double> matrix_;
};

}  // namespace slip::masks
