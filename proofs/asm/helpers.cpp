// The scalar helpers of the kernels, built so that a signed overflow traps: proofs/asm/check proves
// that none does for any argument that their contracts allow.
#include "optimized/kernels/leaf/limbs.hpp"

namespace slip::kernels::helpers {

std::uint32_t embed_31(std::int64_t v) { return embed_p31(v); }
std::int32_t lift_31(std::uint32_t r) { return lift_p31(r); }

void split_31(std::uint32_t r, Limbs<P31>* limbs) { *limbs = split<P31>(r); }

std::uint32_t recombine_31(std::int64_t low, std::int64_t high, std::uint32_t before) {
    const std::int64_t sums[2] = {low, high};
    return recombine(sums, before);
}

}  // namespace slip::kernels::helpers
