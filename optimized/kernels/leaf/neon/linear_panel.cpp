// The micro-kernel under every product with packed weights.
#include "optimized/kernels/leaf/neon/linear_panel.hpp"

#include <arm_neon.h>

#include "optimized/kernels/leaf/neon/layout.hpp"

namespace slip::kernels::neon {

[[gnu::noinline]] void multiply_panel(const std::int8_t* w, const std::int8_t* x, std::size_t steps,
                                      std::int32_t* sums) {
    int32x4_t a0 = vdupq_n_s32(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (; steps > 0; --steps, w += step_bytes, x += 16) {
        const int8x16_t top = vld1q_s8(w), bottom = vld1q_s8(w + 16), four = vld1q_s8(x);
        a0 = vdotq_laneq_s32(a0, top, four, 0), b0 = vdotq_laneq_s32(b0, bottom, four, 0);
        a1 = vdotq_laneq_s32(a1, top, four, 1), b1 = vdotq_laneq_s32(b1, bottom, four, 1);
        a2 = vdotq_laneq_s32(a2, top, four, 2), b2 = vdotq_laneq_s32(b2, bottom, four, 2);
        a3 = vdotq_laneq_s32(a3, top, four, 3), b3 = vdotq_laneq_s32(b3, bottom, four, 3);
    }
    vst1q_s32(sums, a0), vst1q_s32(sums + 4, b0), vst1q_s32(sums + 8, a1);
    vst1q_s32(sums + 12, b1), vst1q_s32(sums + 16, a2), vst1q_s32(sums + 20, b2);
    vst1q_s32(sums + 24, a3), vst1q_s32(sums + 28, b3);
}

}  // namespace slip::kernels::neon
