// The sampler: one pass over the words of the keystream, without a branch on any of them.
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::portable {

// RAND-2: e = 31, so a word is four bytes and its highest bit is dropped; only v = p is rejected.
std::size_t sample_p31(const std::uint32_t* words, std::size_t count, std::uint32_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t v = words[i] & P31::p;
        out[accepted] = v;  // accepted <= i: in place, the words not yet read stay as they are
        accepted += v < P31::p ? 1 : 0;
    }
    return accepted;
}

}  // namespace slip::kernels::portable
