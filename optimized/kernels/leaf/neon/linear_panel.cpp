#include "optimized/kernels/leaf/neon/linear_panel.hpp"

#include <arm_neon.h>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/neon/layout.hpp"

namespace slip::kernels::neon {
namespace {

/// Four bytes.
[[gnu::always_inline]] inline std::uint32_t word_at(const std::uint8_t* x) {
    std::uint32_t word;
    __builtin_memcpy(&word, x, sizeof word);
    return word;
}

/// The residues of four columns of four planes.
[[gnu::always_inline]] inline uint8x16_t step_of(const std::uint8_t* a, const std::uint8_t* b,
                                                 const std::uint8_t* c, const std::uint8_t* d) {
    uint32x4_t words = vdupq_n_u32(word_at(a));
    words = vsetq_lane_u32(word_at(b), words, 1);
    words = vsetq_lane_u32(word_at(c), words, 2);
    return vreinterpretq_u8_u32(vsetq_lane_u32(word_at(d), words, 3));
}

/// Their lifts, modulo primes.
[[gnu::always_inline]] inline int8x16_t lift_16(uint8x16_t residues, uint8x16_t primes) {
    const uint8x16_t is_above = vcgtq_u8(residues, vshrq_n_u8(primes, 1));
    return vreinterpretq_s8_u8(vsubq_u8(residues, vandq_u8(is_above, primes)));
}

/// A prime in each of four bytes.
[[gnu::always_inline]] inline std::uint32_t in_4_bytes(const Modulus& modulus) {
    return modulus.prime * 0x01010101U;
}

}  // namespace

void lift_planes(const std::uint8_t* const* x, const Modulus* const* of_planes, std::size_t width,
                 std::int8_t* lifted) {
    uint32x4_t words = vdupq_n_u32(in_4_bytes(*of_planes[0]));
    words = vsetq_lane_u32(in_4_bytes(*of_planes[1]), words, 1);
    words = vsetq_lane_u32(in_4_bytes(*of_planes[2]), words, 2);
    words = vsetq_lane_u32(in_4_bytes(*of_planes[3]), words, 3);
    const uint8x16_t primes = vreinterpretq_u8_u32(words);
    const std::uint8_t *const a = x[0], *const b = x[1], *const c = x[2], *const d = x[3];
    const std::size_t rest = width % step_columns, whole = width - rest;
    for (std::size_t j = 0; j < whole; j += step_columns, lifted += 16) {
        vst1q_s8(lifted, lift_16(step_of(a + j, b + j, c + j, d + j), primes));
    }
    if (rest == 0) return;
    std::uint8_t last[4][step_columns] = {};
    for (std::size_t j = 0; j < rest; ++j) {
        last[0][j] = a[whole + j], last[1][j] = b[whole + j];
        last[2][j] = c[whole + j], last[3][j] = d[whole + j];
    }
    vst1q_s8(lifted, lift_16(step_of(last[0], last[1], last[2], last[3]), primes));
    base::wipe(last, sizeof last);
}

void multiply_panel(const std::int8_t* w, const std::int8_t* x, std::size_t steps,
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

void finish(const std::int32_t* sums, std::size_t rows, bool first_block, const Modulus& modulus,
            std::uint8_t* y) {
    const Modulus m = modulus;  // which no store to y changes
    for (std::size_t r = 0; r < rows; ++r) {
        y[r] = reduce(std::int64_t{sums[r]} + (first_block ? std::uint8_t{0} : y[r]), m);
    }
}

}  // namespace slip::kernels::neon
