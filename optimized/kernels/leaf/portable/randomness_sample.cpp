// The sampler: one pass over the bytes of the keystream, without a branch on any of them.
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {

// RAND-2: 128 < prime < 256, so e = 8, and a word is a byte.
std::size_t sample(const std::uint8_t* bytes, std::size_t count, std::uint8_t prime,
                   std::uint8_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t v = bytes[i];
        out[accepted] = v;  // accepted <= i: in place, the bytes not yet read stay as they are
        accepted += v < prime ? 1 : 0;
    }
    return accepted;
}

}  // namespace slip::kernels::portable
