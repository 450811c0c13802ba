// The scalar helpers of the kernels, built so that a signed overflow traps: proofs/asm/check proves
// that none does for any argument that their contracts allow.
#include "optimized/kernels/leaf/plane_pairs.hpp"

namespace slip::kernels::helpers {

std::int16_t join_planes(std::uint8_t first, std::uint8_t second) { return join(first, second, 0); }
std::int32_t lift_residue(std::uint32_t r) { return lift(r, moduli[0].prime); }
std::uint8_t reduce_sum(std::int64_t v) { return reduce(v, moduli[0]); }
std::int64_t centre_sum(std::int64_t s) { return centre(s, moduli.size()); }

}  // namespace slip::kernels::helpers
