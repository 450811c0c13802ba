// Masking and unmasking: without a branch on any residue.
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/leaf/residues.hpp"

namespace slip::kernels::portable {

bool below(const std::uint8_t* bytes, std::size_t n, std::uint8_t prime) {
    std::uint32_t borrows = 0;  // the highest bit is set where a byte is above prime - 1
    for (std::size_t j = 0; j < n; ++j) borrows |= std::uint32_t{prime} - 1 - bytes[j];
    return borrows >> 31 == 0;
}

// MASK-1. A multiple of the prime makes q non-negative.
void mask(const std::int16_t* q, const std::uint8_t* mask, std::size_t n, std::size_t planes,
          std::uint8_t* masked) {
    for (std::size_t p = 0; p < planes; ++p, mask += n, masked += n) {
        const Modulus& m = moduli[p];
        const std::uint32_t offset = (32768 + m.prime - 1) / m.prime * m.prime;
        for (std::size_t j = 0; j < n; ++j) {
            const std::uint32_t sum = static_cast<std::uint32_t>(q[j]) + offset + mask[j];
            masked[j] = static_cast<std::uint8_t>(reduce_short(sum, m));
        }
    }
}

// MASK-4.
void unmask(const std::uint8_t* y, const std::uint8_t* cancellation, std::size_t m,
            std::size_t planes, std::int64_t* out) {
    const Recombination& recombination = recombinations[planes];
    for (std::size_t i = 0; i < m; ++i) {
        std::int64_t sum = 0;
        for (std::size_t p = 0; p < planes; ++p) {
            const Modulus& modulus = moduli[p];
            const std::uint32_t difference =
                canonical(y[p * m + i] + modulus.prime - cancellation[p * m + i], modulus.prime);
            const std::uint32_t factor =
                reduce_short(difference * recombination.inverse[p], modulus);
            sum += factor * recombination.weight[p];
        }
        out[i] = centre(sum, planes);
    }
}

}  // namespace slip::kernels::portable
