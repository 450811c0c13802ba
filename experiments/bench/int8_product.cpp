#include "experiments/bench/int8_product.hpp"

#include <algorithm>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace slip::bench {
namespace {

constexpr std::size_t panel_rows = 64;
constexpr std::size_t step_columns = 4;
constexpr std::size_t step_bytes = panel_rows * step_columns;

constexpr std::size_t rounded_up(std::size_t count, std::size_t unit) {
    return (count + unit - 1) / unit * unit;
}

/// sums[t][r] = sum_j w[r][j] x[t][j] of one panel, `stride` bytes from column to column.
void multiply_plainly(const std::int8_t* w, const std::uint8_t* x, std::size_t steps,
                      std::int32_t* sums) {
    std::fill_n(sums, panel_rows, 0);
    for (std::size_t step = 0; step < steps; ++step) {
        for (std::size_t r = 0; r < panel_rows; ++r) {
            for (std::size_t d = 0; d < step_columns; ++d) {
                sums[r] += w[step * step_bytes + r * step_columns + d] * x[step * step_columns + d];
            }
        }
    }
}

#ifdef __x86_64__
#define SLIP_VNNI [[gnu::target("avx512f,avx512vnni")]]

/// The sums of 64 rows for one column.
struct Sums {
    __m512i a, b, c, d;
};

/// The same for Columns columns, whose weights are loaded once.
template <std::size_t Columns>
SLIP_VNNI void multiply_by_vnni(const std::int8_t* w, const std::uint8_t* x, std::size_t stride,
                                std::size_t steps, std::int32_t* sums) {
    constexpr std::size_t ahead = 8192;  // the processor's own prefetchers end with the page
    Sums of[Columns];
    const __m512i zero = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Columns; ++t) of[t] = {zero, zero, zero, zero};
    for (std::size_t step = 0; step < steps; ++step, w += step_bytes) {
        for (std::size_t line = 0; line < step_bytes; line += 64) {
            _mm_prefetch(w + ahead + line, _MM_HINT_T0);
        }
        const __m512i a = _mm512_loadu_si512(w), b = _mm512_loadu_si512(w + 64);
        const __m512i c = _mm512_loadu_si512(w + 128), d = _mm512_loadu_si512(w + 192);
#pragma GCC unroll 4
        for (std::size_t t = 0; t < Columns; ++t) {
            std::int32_t four;
            __builtin_memcpy(&four, x + t * stride + step * step_columns, sizeof four);
            const __m512i activations = _mm512_set1_epi32(four);
            of[t] = {_mm512_dpbusd_epi32(of[t].a, activations, a),
                     _mm512_dpbusd_epi32(of[t].b, activations, b),
                     _mm512_dpbusd_epi32(of[t].c, activations, c),
                     _mm512_dpbusd_epi32(of[t].d, activations, d)};
        }
    }
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Columns; ++t, sums += panel_rows) {
        _mm512_storeu_si512(sums, of[t].a);
        _mm512_storeu_si512(sums + 16, of[t].b);
        _mm512_storeu_si512(sums + 32, of[t].c);
        _mm512_storeu_si512(sums + 48, of[t].d);
    }
}
#undef SLIP_VNNI

bool has_vnni() { return __builtin_cpu_supports("avx512vnni"); }
#endif

/// Columns of x that meet a panel at a time.
constexpr std::size_t together = 4;

/// sums = [columns][64] for up to `together` columns; returns how many were done.
std::size_t multiply_panel(const std::int8_t* w, const std::uint8_t* x, std::size_t columns,
                           std::size_t stride, std::size_t steps, std::int32_t* sums) {
#ifdef __x86_64__
    if (has_vnni() && columns >= together) {
        multiply_by_vnni<together>(w, x, stride, steps, sums);
        return together;
    }
    if (has_vnni()) {
        multiply_by_vnni<1>(w, x, stride, steps, sums);
        return 1;
    }
#endif
    multiply_plainly(w, x, steps, sums);
    return 1;
}

}  // namespace

Int8Matrix::Int8Matrix(const std::int8_t* w, std::size_t m, std::size_t n)
    : m_(m),
      n_(n),
      packed_(rounded_up(m, panel_rows) * rounded_up(n, step_columns)),
      row_sums_(rounded_up(m, panel_rows)) {
    std::fill_n(packed_.data(), packed_.size(), std::int8_t{0});
    const std::size_t width = rounded_up(n, step_columns);
    for (std::size_t i = 0; i < m; ++i) {
        std::int8_t* const place =
            packed_.data() + i / panel_rows * panel_rows * width + i % panel_rows * step_columns;
        for (std::size_t j = 0; j < n; ++j) {
            place[j / step_columns * step_bytes + j % step_columns] = w[i * n + j];
            row_sums_[i] += 128 * w[i * n + j];
        }
    }
}

void Int8Matrix::multiply(const std::uint8_t* x, std::size_t tokens, std::int32_t* y) const {
    const std::size_t stride = rounded_up(n_, step_columns);
    std::int32_t sums[together * panel_rows];
    for (std::size_t row = 0; row < m_; row += panel_rows) {
        const std::int8_t* const w = packed_.data() + row * stride;
        const std::size_t rows = std::min(panel_rows, m_ - row);
        for (std::size_t t = 0; t < tokens;) {
            const std::size_t done =
                multiply_panel(w, x + t * stride, tokens - t, stride, stride / step_columns, sums);
            for (std::size_t i = 0; i < done; ++i, ++t) {
                for (std::size_t r = 0; r < rows; ++r) {
                    y[t * m_ + row + r] = sums[i * panel_rows + r] - row_sums_[row + r];
                }
            }
        }
    }
}

}  // namespace slip::bench
