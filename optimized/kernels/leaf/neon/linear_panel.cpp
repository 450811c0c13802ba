// The micro-kernels under every product with packed weights.
#include "optimized/kernels/leaf/neon/linear_panel.hpp"

#include <arm_neon.h>

#include "optimized/kernels/leaf/neon/layout.hpp"

namespace slip::kernels::neon {

[[gnu::noinline]] void multiply_panel_by_4(const std::int8_t* w, const std::int8_t* x,
                                           std::size_t steps, std::int32_t* sums) {
    int32x4_t a0 = vdupq_n_s32(0), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (; steps > 0; --steps, w += step_bytes, x += 16) {
        const int8x16_t top = vld1q_s8(w), bottom = vld1q_s8(w + 16), digit = vld1q_s8(x);
        a0 = vdotq_laneq_s32(a0, top, digit, 0), b0 = vdotq_laneq_s32(b0, bottom, digit, 0);
        a1 = vdotq_laneq_s32(a1, top, digit, 1), b1 = vdotq_laneq_s32(b1, bottom, digit, 1);
        a2 = vdotq_laneq_s32(a2, top, digit, 2), b2 = vdotq_laneq_s32(b2, bottom, digit, 2);
        a3 = vdotq_laneq_s32(a3, top, digit, 3), b3 = vdotq_laneq_s32(b3, bottom, digit, 3);
    }
    vst1q_s32(sums, a0), vst1q_s32(sums + 4, b0), vst1q_s32(sums + 8, a1);
    vst1q_s32(sums + 12, b1), vst1q_s32(sums + 16, a2), vst1q_s32(sums + 20, b2);
    vst1q_s32(sums + 24, a3), vst1q_s32(sums + 28, b3);
}

[[gnu::noinline]] void multiply_panel_by_8(const std::int8_t* w, const std::int8_t* x,
                                           std::size_t steps, std::int32_t* sums) {
    int32x4_t a0 = vdupq_n_s32(0), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0;
    int32x4_t b0 = a0, b1 = a0, b2 = a0, b3 = a0, b4 = a0, b5 = a0, b6 = a0, b7 = a0;
    for (; steps > 0; --steps, w += step_bytes, x += 32) {
        const int8x16_t top = vld1q_s8(w), bottom = vld1q_s8(w + 16);
        const int8x16_t low = vld1q_s8(x), high = vld1q_s8(x + 16);
        a0 = vdotq_laneq_s32(a0, top, low, 0), b0 = vdotq_laneq_s32(b0, bottom, low, 0);
        a1 = vdotq_laneq_s32(a1, top, low, 1), b1 = vdotq_laneq_s32(b1, bottom, low, 1);
        a2 = vdotq_laneq_s32(a2, top, low, 2), b2 = vdotq_laneq_s32(b2, bottom, low, 2);
        a3 = vdotq_laneq_s32(a3, top, low, 3), b3 = vdotq_laneq_s32(b3, bottom, low, 3);
        a4 = vdotq_laneq_s32(a4, top, high, 0), b4 = vdotq_laneq_s32(b4, bottom, high, 0);
        a5 = vdotq_laneq_s32(a5, top, high, 1), b5 = vdotq_laneq_s32(b5, bottom, high, 1);
        a6 = vdotq_laneq_s32(a6, top, high, 2), b6 = vdotq_laneq_s32(b6, bottom, high, 2);
        a7 = vdotq_laneq_s32(a7, top, high, 3), b7 = vdotq_laneq_s32(b7, bottom, high, 3);
    }
    vst1q_s32(sums, a0), vst1q_s32(sums + 4, b0), vst1q_s32(sums + 8, a1);
    vst1q_s32(sums + 12, b1), vst1q_s32(sums + 16, a2), vst1q_s32(sums + 20, b2);
    vst1q_s32(sums + 24, a3), vst1q_s32(sums + 28, b3), vst1q_s32(sums + 32, a4);
    vst1q_s32(sums + 36, b4), vst1q_s32(sums + 40, a5), vst1q_s32(sums + 44, b5);
    vst1q_s32(sums + 48, a6), vst1q_s32(sums + 52, b6), vst1q_s32(sums + 56, a7);
    vst1q_s32(sums + 60, b7);
}

}  // namespace slip::kernels::neon
