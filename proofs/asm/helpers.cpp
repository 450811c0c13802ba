// The scalar helpers of the kernels, built so that a signed overflow traps: proofs/asm/check proves
// that none does for any argument that their contracts allow.
#include "optimized/kernels/leaf/limbs.hpp"

namespace slip::kernels::helpers {

std::uint32_t embed_31(std::int64_t v) { return embed_p31(v); }
std::int32_t lift_31(std::uint32_t r) { return lift_p31(r); }
std::uint64_t embed_61(std::int64_t v) { return embed_p61(v); }
std::int64_t lift_61(std::uint64_t r) { return lift_p61(r); }

void split_31(std::uint32_t r, Limbs<P31>* limbs) { *limbs = split<P31>(r); }
void split_61(std::uint64_t r, Limbs<P61>* limbs) { *limbs = split<P61>(r); }

std::uint32_t recombine_31(std::int64_t low, std::int64_t high, std::uint32_t before) {
    const std::int64_t sums[2] = {low, high};
    return recombine(sums, before);
}

std::uint64_t recombine_61(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d,
                           std::uint64_t before) {
    const std::int64_t sums[4] = {a, b, c, d};
    return recombine(sums, before);
}

}  // namespace slip::kernels::helpers
