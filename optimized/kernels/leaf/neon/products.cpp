// Y = W X mod p (LIN-1, MASK-3) and s = rho^T W mod p (INTEG-2) from packed weights.
//
// W is cut into panels of 8 rows and steps of 4 columns, [ceil(m/8)][ceil(n/4)][8][4], padded with
// zeros: half a step is a register whose 32-bit lanes are rows, each with the 4 weights that sdot
// multiplies by 4 signed bytes and sums. A lifted residue is its signed bytes,
// lift(r) = sum_l 2^(8 l) digit_l with digit_l in [-128, 127]: 4 digits in P31, 8 in P61.
#include <arm_neon.h>

#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/neon/neon.hpp"
#include "optimized/kernels/mersenne31.hpp"
#include "optimized/kernels/mersenne61.hpp"

namespace slip::kernels::neon {
namespace {

constexpr std::size_t panel_rows = 8;
constexpr std::size_t step_columns = 4;
constexpr std::size_t step_bytes = panel_rows * step_columns;

/// Columns of W whose digits lie on the stack at a time. 32 bits hold 128 * 128 * 131,071 < 2^31.
constexpr std::size_t block_width = 8192;
static_assert(std::int64_t{128} * 128 * std::int64_t{block_width} < std::int64_t{1} << 31);

std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
std::size_t panels_of(std::size_t m) { return (m + panel_rows - 1) / panel_rows; }
std::size_t steps_of(std::size_t n) { return (n + step_columns - 1) / step_columns; }

template <class P>
constexpr std::size_t digits = sizeof(typename P::Residue);

std::int32_t lift(std::uint32_t r) { return lift_p31(r); }
std::int64_t lift(std::uint64_t r) { return lift_p61(r); }

/// of[step][digit][4] of `width` residues, with zeros up to a whole step.
template <class P>
void split(const typename P::Residue* x, std::size_t width, std::int8_t* of) {
    for (std::size_t j = 0; j < steps_of(width) * step_columns; ++j) {
        auto v = lift(j < width ? x[j] : 0);
        std::int8_t* const place = of + j / 4 * 4 * digits<P> + j % 4;
        for (std::size_t l = 0; l < digits<P>; ++l) {
            const auto digit = static_cast<std::int8_t>(v);  // v mod 2^8, centred
            place[4 * l] = digit;
            v = (v - digit) >> 8;
        }
    }
}

/// sums[digit][8 rows] of one panel, `steps` steps.
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

/// sum_l 2^(8 l) sums[l stride] + before, mod p: below 2^56 + 2^31 (2^88 + 2^61) in absolute value.
std::uint32_t recombine(const std::int32_t* sums, std::size_t stride, std::uint32_t before) {
    std::int64_t total = before;
    for (std::size_t l = 0; l < 4; ++l) {
        total += std::int64_t{sums[l * stride]} * (std::int64_t{1} << (8 * l));
    }
    return embed_p31(total);
}
std::uint64_t recombine(const std::int32_t* sums, std::size_t stride, std::uint64_t before) {
    Int128 total = (Int128{P61::p} << 60) + Int128{before};  // non-negative: p 2^60 > 2^88
    for (std::size_t l = 0; l < 8; ++l) {
        total += Int128{sums[l * stride]} * (Int128{1} << (8 * l));
    }
    return reduce_p61_wide(static_cast<UInt128>(total));
}

/// One column of Y, a block of columns of W after the other.
template <class P>
void multiply_column(const std::int8_t* packed, std::size_t m, std::size_t n,
                     const typename P::Residue* x, typename P::Residue* y) {
    std::int8_t of_digits[block_width * digits<P>];
    std::int32_t sums[panel_rows * digits<P>];
    for (std::size_t j = 0; j == 0 || j < n; j += block_width) {
        const std::size_t width = least(block_width, n - j);
        split<P>(x + j, width, of_digits);
        for (std::size_t panel = 0; panel < panels_of(m); ++panel) {
            const std::size_t first_step = panel * steps_of(n) + j / step_columns;
            (digits<P> == 4 ? multiply_panel_by_4 : multiply_panel_by_8)(
                packed + first_step * step_bytes, of_digits, steps_of(width), sums);
            for (std::size_t i = panel * panel_rows; i < least(m, (panel + 1) * panel_rows); ++i) {
                y[i] = recombine(sums + i % panel_rows, panel_rows, j == 0 ? 0 : y[i]);
            }
        }
    }
    // The column may be a mask (MASK-3), which leaves no trace (MASK-6).
    wipe(of_digits, sizeof of_digits);
    wipe(sums, sizeof sums);
}

/// Four columns of s, whose weights lie at `w` in every panel, panel_bytes apart.
template <class P>
void check_step(const std::int8_t* w, std::size_t panel_bytes, std::size_t m, std::size_t columns,
                const typename P::Residue* rho, typename P::Residue* s) {
    constexpr std::size_t pass = 65536;  // rows that 32 bits hold: 128 * 128 * 65,536 < 2^31
    for (std::size_t first = 0; first == 0 || first < m; first += pass) {
        std::int32_t sums[digits<P> * step_columns] = {};
        for (std::size_t i = first; i < least(m, first + pass); ++i) {
            const std::int8_t* const row =
                w + i / panel_rows * panel_bytes + i % panel_rows * step_columns;
            auto v = lift(rho[i]);
            for (std::size_t l = 0; l < digits<P>; ++l) {
                const auto digit = static_cast<std::int8_t>(v);
                v = (v - digit) >> 8;
                for (std::size_t d = 0; d < step_columns; ++d) {
                    sums[l * step_columns + d] += digit * row[d];
                }
            }
        }
        for (std::size_t d = 0; d < columns; ++d) {
            s[d] = recombine(sums + d, step_columns, first == 0 ? 0 : s[d]);
        }
        wipe(sums, sizeof sums);
    }
}

template <class P>
void check_vector(const std::int8_t* packed, std::size_t m, std::size_t n,
                  const typename P::Residue* rho, typename P::Residue* s) {
    for (std::size_t step = 0; step < steps_of(n); ++step) {
        const std::size_t j = step * step_columns;
        check_step<P>(packed + step * step_bytes, steps_of(n) * step_bytes, m,
                      least(step_columns, n - j), rho, s + j);
    }
}

}  // namespace

std::size_t packed_bytes(std::size_t m, std::size_t n) {
    return panels_of(m) * steps_of(n) * step_bytes;
}

void pack(const std::int8_t* w, std::size_t m, std::size_t n, PackedWeights* packed) {
    for (std::size_t i = 0; i < panels_of(m) * panel_rows; ++i) {
        for (std::size_t j = 0; j < steps_of(n) * step_columns; ++j) {
            const std::size_t step = i / panel_rows * steps_of(n) + j / step_columns;
            raw(packed)[step * step_bytes + i % panel_rows * step_columns + j % step_columns] =
                i < m && j < n ? w[i * n + j] : std::int8_t{0};
        }
    }
}

void gemm_p31(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint32_t* x,
              std::size_t b, std::uint32_t* y) {
    for (std::size_t c = 0; c < b; ++c)
        multiply_column<P31>(raw(packed), m, n, x + c * n, y + c * m);
}

void gemm_p61(const PackedWeights* packed, std::size_t m, std::size_t n, const std::uint64_t* x,
              std::size_t b, std::uint64_t* y) {
    for (std::size_t c = 0; c < b; ++c)
        multiply_column<P61>(raw(packed), m, n, x + c * n, y + c * m);
}

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s) {
    check_vector<P31>(raw(packed), m, n, rho, s);
}

void check_vector_p61(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint64_t* rho, std::uint64_t* s) {
    check_vector<P61>(raw(packed), m, n, rho, s);
}

}  // namespace slip::kernels::neon
