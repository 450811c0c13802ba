// The inner product of the integrity check (INTEG-3).
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::portable {

// A product of two residues is below 2^62 and 2^31 = 1 mod p, so its two halves of 31 bits are
// summed apart. Each sum holds 2^33 terms.
std::uint32_t dot_p31(const std::uint32_t* a, const std::uint32_t* b, std::size_t n) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t product = std::uint64_t{a[i]} * b[i];
        low += product & P31::p;
        high += product >> 31;
    }
    return canonical_p31(reduce_p31(low) + reduce_p31(high));
}

}  // namespace slip::kernels::portable
