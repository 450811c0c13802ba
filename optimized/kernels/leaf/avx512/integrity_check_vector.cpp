// s = rho^T W mod p (INTEG-2) from packed weights. One register of a step holds 16 rows of 4
// columns; transposed in every 128-bit lane, its 32-bit lanes hold 4 rows of one column, which
// vpdpbusd multiplies by a digit of 4 elements of rho.
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/leaf/avx512/layout.hpp"
#include "optimized/kernels/leaf/prototypes.hpp"
#include "optimized/kernels/mersenne31.hpp"

namespace slip::kernels::avx512 {
namespace {

/// Steps whose sums lie on the stack at a time: 128 columns.
constexpr std::size_t block_steps = 32;

/// Digit l of 16 elements of rho: in lane L the digits of elements 4 L .. 4 L + 3, four times.
template <std::size_t Digits>
struct RhoDigits {
    __m512i digit[Digits];
};

RhoDigits<4> digits_of(const std::uint32_t* rho, std::size_t count) {
    const __m512i v = transpose_4x4(_mm512_maskz_loadu_epi32(first_16(count), rho));
    return {{_mm512_shuffle_epi32(v, _MM_PERM_AAAA), _mm512_shuffle_epi32(v, _MM_PERM_BBBB),
             _mm512_shuffle_epi32(v, _MM_PERM_CCCC), _mm512_shuffle_epi32(v, _MM_PERM_DDDD)}};
}

/// [step][digit]: 32-bit lanes are [4 groups of rows][4 columns].
template <std::size_t Digits>
struct Sums {
    __m512i of[block_steps][Digits];
};

/// Adds the products of 32 rows of W, of which `rho` holds `rows`: `steps` steps of `step_bytes`.
template <std::size_t Digits, class Residue>
void add_rows(const std::int8_t* w, std::size_t step_bytes, std::size_t steps, const Residue* rho,
              std::size_t rows, Sums<Digits>& sums) {
    const RhoDigits<Digits> top = digits_of(rho, rows);
    const RhoDigits<Digits> bottom =
        rows > 16 ? digits_of(rho + 16, rows - 16) : RhoDigits<Digits>{};
    for (std::size_t step = 0; step < steps; ++step, w += step_bytes) {
        const __m512i w_top = transpose_4x4(_mm512_loadu_si512(w));
        const __m512i w_bottom = transpose_4x4(_mm512_loadu_si512(w + 64));
        for (std::size_t l = 0; l < Digits; ++l) {
            const __m512i sum = _mm512_dpbusd_epi32(sums.of[step][l], top.digit[l], w_top);
            sums.of[step][l] = _mm512_dpbusd_epi32(sum, bottom.digit[l], w_bottom);
        }
    }
}

/// One column's sum over all rows of a pass, which still fits 32 bits.
std::int32_t column_sum(const __m512i& groups, std::size_t column) {
    std::int32_t lanes[16];
    _mm512_storeu_si512(lanes, groups);
    return lanes[column] + lanes[4 + column] + lanes[8 + column] + lanes[12 + column];
}

/// sum_l 2^(8 l) digit sum, plus `before`, mod p. The sum is below 2^56 in absolute value.
std::uint32_t recombine(const __m512i (&digits)[4], std::size_t column, std::uint32_t before) {
    std::int64_t sum = before;
    for (std::size_t l = 0; l < 4; ++l) {
        sum += std::int64_t{column_sum(digits[l], column)} * (std::int64_t{1} << 8 * l);
    }
    return embed_p31(sum);
}

/// The columns of s that belong to up to block_steps steps from `first_step` on.
template <class P, std::size_t Digits>
void check_columns(const std::int8_t* packed, std::size_t m, std::size_t n,
                   const typename P::Residue* rho, std::size_t first_step, Sums<Digits>& sums,
                   typename P::Residue* s) {
    using L = Layout<P>;
    constexpr std::size_t pass = max_products / L::panel_rows * L::panel_rows;
    const std::size_t steps = least(block_steps, steps_of(n) - first_step);
    for (std::size_t top = 0; top == 0 || top < m; top += pass) {
        for (std::size_t step = 0; step < steps; ++step) {
            for (__m512i& sum : sums.of[step]) sum = _mm512_setzero_si512();
        }
        for (std::size_t i = top; i < least(m, top + pass); i += 32) {
            const std::size_t step = i / L::panel_rows * steps_of(n) + first_step;
            add_rows(packed + step * L::step_bytes + i % L::panel_rows * step_columns,
                     L::step_bytes, steps, rho + i, least(32, m - i), sums);
        }
        for (std::size_t j = 0; j < least(4 * steps, n - 4 * first_step); ++j) {
            auto& out = s[4 * first_step + j];
            out = recombine(sums.of[j / 4], j % 4, top == 0 ? 0 : out);
        }
    }
}

template <class P>
void check_vector(const std::int8_t* packed, std::size_t m, std::size_t n,
                  const typename P::Residue* rho, typename P::Residue* s) {
    Sums<Layout<P>::digits> sums;
    for (std::size_t step = 0; step < steps_of(n); step += block_steps) {
        check_columns<P>(packed, m, n, rho, step, sums, s);
    }
    base::wipe(&sums, sizeof sums);
}

}  // namespace

void check_vector_p31(const PackedWeights* packed, std::size_t m, std::size_t n,
                      const std::uint32_t* rho, std::uint32_t* s) {
    check_vector<P31>(raw(packed), m, n, rho, s);
}

}  // namespace slip::kernels::avx512
