// z = B q (DECO-7): vpdpwssd multiplies pairs of columns of B by pairs of activations.
// twelve_bits.hpp has the layout of B.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/avx512/twelve_bits.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"

namespace slip::kernels::avx512 {
namespace {

namespace parameters = base::parameters;

/// Slices whose products sum in 32 bits: a lane takes 2 columns of each register.
constexpr std::size_t pass = 4;
static_assert(std::int64_t{parameters::largest_factor} * parameters::largest_activation_norm * 2 *
                  4 * pass <
              std::int64_t{1} << 31);

/// sum += a row's slice times the activations in q.
[[gnu::always_inline]] inline void add_slice(__m512i& sum, const std::uint8_t* row, const Four& q) {
    const Four b = unpack_four(row);
    add_pairs(sum, b.a, q.a);
    add_pairs(sum, b.b, q.b);
    add_pairs(sum, b.c, q.c);
    add_pairs(sum, b.d, q.d);
}

/// total += the 16 lanes of sum, in 8 parts; sum = 0.
[[gnu::always_inline]] inline void drain(__m512i& total, __m512i& sum) {
    const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum));
    const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum, 1));
    total = _mm512_add_epi64(total, _mm512_add_epi64(low, high));
    sum = _mm512_setzero_si512();
}

/// parts[r] += row r of a group times q, over `slices` whole slices, in 8 parts.
[[gnu::noinline]] void multiply_8_rows(const std::uint8_t* right, const std::int16_t* q,
                                       std::size_t slices, __m512i* parts) {
    __m512i total_0 = parts[0], total_1 = parts[1], total_2 = parts[2], total_3 = parts[3],
            total_4 = parts[4], total_5 = parts[5], total_6 = parts[6], total_7 = parts[7];
    const __m512i zero = _mm512_setzero_si512();
    __m512i sum_0 = zero, sum_1 = zero, sum_2 = zero, sum_3 = zero, sum_4 = zero, sum_5 = zero,
            sum_6 = zero, sum_7 = zero;
    while (slices > 0) {
        for (std::size_t left = least(slices, pass); left > 0; --left, --slices) {
            const Four activations{_mm512_loadu_si512(q), _mm512_loadu_si512(q + packed_lanes),
                                   _mm512_loadu_si512(q + 2 * packed_lanes),
                                   _mm512_loadu_si512(q + 3 * packed_lanes)};
            add_slice(sum_0, right, activations);
            add_slice(sum_1, right + four_bytes, activations);
            add_slice(sum_2, right + 2 * four_bytes, activations);
            add_slice(sum_3, right + 3 * four_bytes, activations);
            add_slice(sum_4, right + 4 * four_bytes, activations);
            add_slice(sum_5, right + 5 * four_bytes, activations);
            add_slice(sum_6, right + 6 * four_bytes, activations);
            add_slice(sum_7, right + 7 * four_bytes, activations);
            right += group_rows * four_bytes;
            q += slice;
        }
        drain(total_0, sum_0);
        drain(total_1, sum_1);
        drain(total_2, sum_2);
        drain(total_3, sum_3);
        drain(total_4, sum_4);
        drain(total_5, sum_5);
        drain(total_6, sum_6);
        drain(total_7, sum_7);
    }
    parts[0] = total_0, parts[1] = total_1, parts[2] = total_2, parts[3] = total_3;
    parts[4] = total_4, parts[5] = total_5, parts[6] = total_6, parts[7] = total_7;
}

/// The sum of the 8 lanes of parts[r] in lane r.
__m512i lane_sums(const __m512i* parts) {
    return lane_pair_sums(
        lane_pair_sums(pair_sums(parts[0], parts[1]), pair_sums(parts[2], parts[3])),
        lane_pair_sums(pair_sums(parts[4], parts[5]), pair_sums(parts[6], parts[7])));
}

}  // namespace

void low_rank_inner(const PackedRight* right, std::size_t k, std::size_t n, const std::int16_t* q,
                    std::int64_t* z) {
    const std::size_t whole = n / slice;
    alignas(64) std::int16_t rest[slice];  // the activations of a last slice, and zeros
    for (std::size_t j = 0; j < slice; j += packed_lanes) {
        const std::size_t at = least(whole * slice + j, n);
        const __mmask32 lanes = first_32(n - at);
        _mm512_store_si512(rest + j, _mm512_maskz_loadu_epi16(lanes, q + at));
    }
    __m512i parts[group_rows];
    for (std::size_t c = 0; c < k; c += group_rows) {
        for (__m512i& part : parts) part = _mm512_setzero_si512();
        const std::uint8_t* const group = raw(right) + c * slices_of(n) * four_bytes;
        multiply_8_rows(group, q, whole, parts);
        multiply_8_rows(group + whole * group_rows * four_bytes, rest, slices_of(n) - whole, parts);
        _mm512_mask_storeu_epi64(z + c, first_8(k - c), lane_sums(parts));
    }
    base::wipe(rest, sizeof rest);  // activations
    base::wipe(parts, sizeof parts);
}

}  // namespace slip::kernels::avx512
