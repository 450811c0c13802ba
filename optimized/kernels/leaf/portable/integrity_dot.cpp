// The inner products of the integrity check (INTEG-3).
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"

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

// A product of two residues is below 2^122 and 2^61 = 1 mod p: its halves of 61 bits are summed
// together, 2^33 terms below 2^95.
std::uint64_t dot_p61(const std::uint64_t* a, const std::uint64_t* b, std::size_t n) {
    UInt128 sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const UInt128 product = UInt128{a[i]} * b[i];
        sum += (product & P61::p) + (product >> 61);
    }
    return reduce_p61_wide(sum);
}

}  // namespace slip::kernels::portable
