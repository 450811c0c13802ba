// z = B q (DECO-7): vpdpwssd multiplies pairs of columns of B by pairs of limbs of q.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/avx512.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Elements of a row of B at a time. q = low + 2^8 high with |low|, |high| <= 2^7, and each of the
/// 16 lanes sums a 16th of the products: 32767 * 2^7 * 512 = 2,147,418,112 <= 2^31 - 1.
constexpr std::size_t pass = 512 * 16;

/// B is cut into groups of 8 rows and slices of 32 columns, [ceil(k/8)][ceil(n/32)][8][32], padded
/// with zeros, so that a group is read from its beginning to its end.
constexpr std::size_t group_rows = 8, slice = 32, slice_elements = group_rows * slice;

constexpr std::size_t groups_of(std::size_t k) { return (k + group_rows - 1) / group_rows; }
constexpr std::size_t slices_of(std::size_t n) { return (n + slice - 1) / slice; }

struct Limbs {
    alignas(64) std::int16_t low[pass];
    alignas(64) std::int16_t high[pass];
};

/// The limbs of q, with zeros up to a whole register.
void split(const std::int16_t* q, std::size_t n, Limbs& limbs) {
    for (std::size_t j = 0; j < n; j += 32) {
        const __m512i v = _mm512_maskz_loadu_epi16(first_32(n - j), q + j);
        const __m512i low = _mm512_srai_epi16(_mm512_slli_epi16(v, 8), 8);
        _mm512_store_si512(limbs.low + j, low);
        // (v - low) / 2^8: v / 2^8 rounded down, and 1 more where low is negative.
        _mm512_store_si512(limbs.high + j,
                           _mm512_add_epi16(_mm512_srai_epi16(v, 8), _mm512_srli_epi16(low, 15)));
    }
}

/// sums[r][limb] of 8 rows of B with both limbs of q, each in 16 lanes.
[[gnu::noinline]] void multiply_8_rows(const std::int16_t* right, const std::int16_t* q_low,
                                       const std::int16_t* q_high, std::size_t slices,
                                       std::int32_t* sums) {
    __m512i a0 = _mm512_setzero_si512(), a1 = _mm512_setzero_si512(), b0 = _mm512_setzero_si512(),
            b1 = _mm512_setzero_si512(), c0 = _mm512_setzero_si512(), c1 = _mm512_setzero_si512(),
            d0 = _mm512_setzero_si512(), d1 = _mm512_setzero_si512(), e0 = _mm512_setzero_si512(),
            e1 = _mm512_setzero_si512(), f0 = _mm512_setzero_si512(), f1 = _mm512_setzero_si512(),
            g0 = _mm512_setzero_si512(), g1 = _mm512_setzero_si512(), h0 = _mm512_setzero_si512(),
            h1 = _mm512_setzero_si512();
    for (; slices > 0; --slices, right += slice_elements, q_low += slice, q_high += slice) {
        const __m512i low = _mm512_load_si512(q_low);
        const __m512i high = _mm512_load_si512(q_high);
        __m512i row;
        row = _mm512_loadu_si512(right);
        add_pairs(a0, row, low);
        add_pairs(a1, row, high);
        row = _mm512_loadu_si512(right + 32);
        add_pairs(b0, row, low);
        add_pairs(b1, row, high);
        row = _mm512_loadu_si512(right + 64);
        add_pairs(c0, row, low);
        add_pairs(c1, row, high);
        row = _mm512_loadu_si512(right + 96);
        add_pairs(d0, row, low);
        add_pairs(d1, row, high);
        row = _mm512_loadu_si512(right + 128);
        add_pairs(e0, row, low);
        add_pairs(e1, row, high);
        row = _mm512_loadu_si512(right + 160);
        add_pairs(f0, row, low);
        add_pairs(f1, row, high);
        row = _mm512_loadu_si512(right + 192);
        add_pairs(g0, row, low);
        add_pairs(g1, row, high);
        row = _mm512_loadu_si512(right + 224);
        add_pairs(h0, row, low);
        add_pairs(h1, row, high);
    }
    _mm512_storeu_si512(sums, a0);
    _mm512_storeu_si512(sums + 16, a1);
    _mm512_storeu_si512(sums + 32, b0);
    _mm512_storeu_si512(sums + 48, b1);
    _mm512_storeu_si512(sums + 64, c0);
    _mm512_storeu_si512(sums + 80, c1);
    _mm512_storeu_si512(sums + 96, d0);
    _mm512_storeu_si512(sums + 112, d1);
    _mm512_storeu_si512(sums + 128, e0);
    _mm512_storeu_si512(sums + 144, e1);
    _mm512_storeu_si512(sums + 160, f0);
    _mm512_storeu_si512(sums + 176, f1);
    _mm512_storeu_si512(sums + 192, g0);
    _mm512_storeu_si512(sums + 208, g1);
    _mm512_storeu_si512(sums + 224, h0);
    _mm512_storeu_si512(sums + 240, h1);
}

/// The sum of 16 lanes, in 8 parts.
[[gnu::always_inline]] inline __m512i widened(const std::int32_t* sums) {
    return _mm512_add_epi64(_mm512_cvtepi32_epi64(load_8(sums)),
                            _mm512_cvtepi32_epi64(load_8(sums + 8)));
}

/// (B q)[r] in lane r.
__m512i recombine(const std::int32_t* sums) {
    const auto row = [&](std::size_t r) {
        return _mm512_add_epi64(widened(sums + 32 * r),
                                _mm512_slli_epi64(widened(sums + 32 * r + 16), 8));
    };
    return lane_pair_sums(lane_pair_sums(pair_sums(row(0), row(1)), pair_sums(row(2), row(3))),
                          lane_pair_sums(pair_sums(row(4), row(5)), pair_sums(row(6), row(7))));
}

}  // namespace

std::size_t right_bytes(std::size_t k, std::size_t n) {
    return groups_of(k) * slices_of(n) * slice_elements * sizeof(std::int16_t);
}

void pack_right(const std::int16_t* b, std::size_t k, std::size_t n, std::int16_t* right) {
    for (std::size_t c = 0; c < groups_of(k) * group_rows; ++c) {
        std::int16_t* const row =
            right + c / group_rows * slices_of(n) * slice_elements + c % group_rows * slice;
        for (std::size_t j = 0; j < slices_of(n) * slice; ++j) {
            row[j / slice * slice_elements + j % slice] =
                c < k && j < n ? b[c * n + j] : std::int16_t{0};
        }
    }
}

void low_rank_inner(const std::int16_t* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    Limbs limbs;
    alignas(64) std::int32_t sums[2 * group_rows * 16];
    for (std::size_t c = 0; c < k; ++c) z[c] = 0;
    for (std::size_t first = 0; first < n; first += pass) {
        const std::size_t width = least(pass, n - first);
        split(q + first, width, limbs);
        for (std::size_t c = 0; c < k; c += group_rows) {
            multiply_8_rows(
                right + (c / group_rows * slices_of(n) + first / slice) * slice_elements, limbs.low,
                limbs.high, slices_of(width), sums);
            const __mmask8 lanes = first_8(k - c);
            const __m512i before = _mm512_maskz_loadu_epi64(lanes, z + c);
            _mm512_mask_storeu_epi64(z + c, lanes, _mm512_add_epi64(before, recombine(sums)));
        }
    }
    wipe(limbs.low, least(pass, n) * sizeof(std::int16_t));  // activations
    wipe(limbs.high, least(pass, n) * sizeof(std::int16_t));
    wipe(sums, sizeof sums);
}

}  // namespace slip::kernels::avx512
