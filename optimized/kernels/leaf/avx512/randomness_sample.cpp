// The sampler: the accepted bytes of a register are moved to its front.
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {

// RAND-2. In place, the bytes not yet read stay as they are: what is written begins and ends before
// them. Only how many bytes were rejected, which is no secret, changes what is executed.
std::size_t sample(const std::uint8_t* bytes, std::size_t count, std::uint8_t prime,
                   std::uint8_t* out) {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < count; i += 64) {
        const __mmask64 lanes = first_64(count - i);
        accepted +=
            sample_64(_mm512_maskz_loadu_epi8(lanes, bytes + i), lanes, prime, out + accepted);
    }
    return accepted;
}

}  // namespace slip::kernels::avx512
