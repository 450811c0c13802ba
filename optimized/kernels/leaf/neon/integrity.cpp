// The inner products of the integrity check (INTEG-3): see combination_blocks.hpp for the layout.
#include <arm_neon.h>

#include "optimized/kernels/leaf/combination_blocks.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::neon {
namespace {

/// The sums over a plane's blocks, an accumulator per combination.
struct Sums {
    int32x4_t a = vdupq_n_s32(0), b = a, c = a, d = a, e = a, f = a, g = a, h = a;

    /// The products of a quarter of a block.
    [[gnu::always_inline]] void add(const std::int8_t* w, int8x16_t v) {
        a = vdotq_s32(a, vld1q_s8(w), v);
        b = vdotq_s32(b, vld1q_s8(w + block_entries), v);
        c = vdotq_s32(c, vld1q_s8(w + 2 * block_entries), v);
        d = vdotq_s32(d, vld1q_s8(w + 3 * block_entries), v);
        e = vdotq_s32(e, vld1q_s8(w + 4 * block_entries), v);
        f = vdotq_s32(f, vld1q_s8(w + 5 * block_entries), v);
        g = vdotq_s32(g, vld1q_s8(w + 6 * block_entries), v);
        h = vdotq_s32(h, vld1q_s8(w + 7 * block_entries), v);
    }
    [[gnu::always_inline]] void add_block(const std::int8_t* w, const std::uint8_t* v,
                                          std::uint32_t prime) {
        const auto modulus = static_cast<std::uint8_t>(prime);
        const auto half = static_cast<std::uint8_t>(prime / 2);
        for (std::size_t i = 0; i < block_entries; i += 16) {
            const uint8x16_t residues = vld1q_u8(v + i);
            const uint8x16_t is_above = vcgtq_u8(residues, vdupq_n_u8(half));
            const uint8x16_t lifted = vsubq_u8(residues, vandq_u8(is_above, vdupq_n_u8(modulus)));
            add(w + i, vreinterpretq_s8_u8(lifted));
        }
    }
    [[gnu::always_inline]] void add_to(std::int64_t* totals) const {
        totals[0] += vaddlvq_s32(a), totals[1] += vaddlvq_s32(b);
        totals[2] += vaddlvq_s32(c), totals[3] += vaddlvq_s32(d);
        totals[4] += vaddlvq_s32(e), totals[5] += vaddlvq_s32(f);
        totals[6] += vaddlvq_s32(g), totals[7] += vaddlvq_s32(h);
    }
};

}  // namespace

void combine(const PackedCombinations* packed, std::size_t n, std::size_t planes,
             const std::uint8_t* v, std::size_t b, std::uint8_t* out) {
    combine_blocks<Sums>(raw(packed), n, planes, v, b, out);
}

}  // namespace slip::kernels::neon
