// The combinations of the integrity check as the kernel reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/packed.hpp"

namespace slip::kernels {

/// kappa secret combinations of n residues (INTEG-1, INTEG-2): a copy in the layout of the active
/// backend, which is wiped with the object.
class Combinations {
public:
    Combinations() = default;
    /// Byte (a * planes + p) * n + i is entry i of combination a in plane p; 1 <= planes <=
    /// base::parameters::primes.size(). Throws InternalError unless w has kappa * planes * n bytes,
    /// each below its prime.
    Combinations(std::span<const std::uint8_t> w, std::size_t n, std::size_t planes);

    std::size_t n() const { return n_; }
    std::size_t planes() const { return planes_; }

    /// INTEG-3: byte (c * planes + p) * kappa + a of `out` is the inner product of combination a
    /// and column c in plane p, canonical. The b columns are of m <= n() residues, one after the
    /// other, and meet the first m entries of the combinations; out has b * planes * kappa bytes.
    /// Time depends on no byte of either. Throws InternalError for other sizes. Thread-safe.
    void combine(std::span<const std::uint8_t> columns, std::size_t b,
                 std::span<std::uint8_t> out) const;

private:
    std::size_t n_ = 0;
    std::size_t planes_ = 0;
    base::SecretBuffer<PackedCombinations> packed_;
};

}  // namespace slip::kernels
