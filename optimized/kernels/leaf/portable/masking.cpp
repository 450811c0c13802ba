// Masking and unmasking: one pass over the residues, without a branch on any of them.
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::portable {

// MASK-1. embed(q) = q + (p if q < 0), RING-2; the sum of two residues is at most 2 p - 2.
void mask_p31(const std::int16_t* q, const std::uint32_t* mask, std::size_t n,
              std::uint32_t* masked) {
    for (std::size_t j = 0; j < n; ++j) {
        const std::int32_t value = q[j];
        const std::uint32_t negative = static_cast<std::uint32_t>(value) >> 31;
        const std::uint32_t embedded = static_cast<std::uint32_t>(value) + negative * P31::p;
        masked[j] = canonical_p31(embedded + mask[j]);
    }
}

// MASK-4. y + (p - c) lies in 1 .. 2 p - 1.
void unmask_p31(const std::uint32_t* y, const std::uint32_t* cancellation, std::size_t m,
                std::int32_t* out) {
    for (std::size_t i = 0; i < m; ++i) {
        out[i] = lift_p31(canonical_p31(y[i] + (P31::p - cancellation[i])));
    }
}

}  // namespace slip::kernels::portable
