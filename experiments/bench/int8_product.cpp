#include "experiments/bench/int8_product.hpp"

#include <algorithm>
#include <string_view>
#ifdef __x86_64__
#include <immintrin.h>

#include "optimized/kernels/registry.hpp"
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

#define SLIP_AVX2 [[gnu::target("avx2")]]

/// The same without VNNI, for Rows rows of a panel and Columns columns: |w| times x with w's sign,
/// whose sums of two are below 2^15, so that nothing saturates. Of x - 128, which is at least -127.
template <std::size_t Rows, std::size_t Columns>
SLIP_AVX2 void multiply_by_avx2(const std::int8_t* w, const std::uint8_t* x, std::size_t stride,
                                std::size_t steps, std::int32_t* sums) {
    constexpr std::size_t ahead = 4096, lanes = 8, vectors = Rows / lanes;
    const __m256i ones = _mm256_set1_epi16(1), offset = _mm256_set1_epi8(-128);
    __m256i of[Columns][vectors];
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Columns; ++t) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) of[t][v] = _mm256_setzero_si256();
    }
    for (std::size_t step = 0; step < steps; ++step, w += step_bytes) {
        __m256i activations[Columns];
#pragma GCC unroll 4
        for (std::size_t t = 0; t < Columns; ++t) {
            std::int32_t four;
            __builtin_memcpy(&four, x + t * stride + step * step_columns, sizeof four);
            activations[t] = _mm256_xor_si256(_mm256_set1_epi32(four), offset);
        }
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) {
            if (v % 2 == 0) _mm_prefetch(w + ahead + 32 * v, _MM_HINT_T0);
            const auto weights = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32 * v));
            const __m256i magnitudes = _mm256_abs_epi8(weights);
#pragma GCC unroll 4
            for (std::size_t t = 0; t < Columns; ++t) {
                const __m256i pairs =
                    _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(activations[t], weights));
                of[t][v] = _mm256_add_epi32(of[t][v], _mm256_madd_epi16(pairs, ones));
            }
        }
    }
#pragma GCC unroll 4
    for (std::size_t t = 0; t < Columns; ++t) {
#pragma GCC unroll 8
        for (std::size_t v = 0; v < vectors; ++v) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + t * panel_rows + lanes * v),
                                of[t][v]);
        }
    }
}
#undef SLIP_AVX2
#endif

/// Columns of x that meet a panel at a time.
constexpr std::size_t together = 4;

/// A panel's sums: of how many columns, and whether they are of x instead of x - 128.
struct Done {
    std::size_t columns;
    bool shifted;
};

/// sums = [columns][64] for up to `together` columns.
Done multiply_panel([[maybe_unused]] Instructions instructions, const std::int8_t* w,
                    const std::uint8_t* x, std::size_t columns, std::size_t stride,
                    std::size_t steps, std::int32_t* sums) {
#ifdef __x86_64__
    if (instructions == Instructions::vnni && columns >= together) {
        multiply_by_vnni<together>(w, x, stride, steps, sums);
        return {together, true};
    }
    if (instructions == Instructions::vnni) {
        multiply_by_vnni<1>(w, x, stride, steps, sums);
        return {1, true};
    }
    if (instructions == Instructions::avx2 && columns >= 2) {
        constexpr std::size_t half = panel_rows / 2;  // as many sums as there are registers
        multiply_by_avx2<half, 2>(w, x, stride, steps, sums);
        multiply_by_avx2<half, 2>(w + half * step_columns, x, stride, steps, sums + half);
        return {2, false};
    }
    if (instructions == Instructions::avx2) {
        multiply_by_avx2<panel_rows, 1>(w, x, stride, steps, sums);
        return {1, false};
    }
#endif
    multiply_plainly(w, x, steps, sums);
    return {1, true};
}

Instructions of_backend(std::string_view name) {
    if (name == "avx512") return Instructions::vnni;
    return name == "avx2" ? Instructions::avx2 : Instructions::compilers;
}

}  // namespace

Int8Matrix::Int8Matrix(const std::int8_t* w, std::size_t m, std::size_t n,
                       const kernels::Backend& backend)
    : instructions_(of_backend(backend.name)),
      m_(m),
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
            const Done done = multiply_panel(instructions_, w, x + t * stride, tokens - t, stride,
                                             stride / step_columns, sums);
            for (std::size_t i = 0; i < done.columns; ++i, ++t) {
                for (std::size_t r = 0; r < rows; ++r) {
                    y[t * m_ + row + r] =
                        sums[i * panel_rows + r] - (done.shifted ? row_sums_[row + r] : 0);
                }
            }
        }
    }
}

}  // namespace slip::bench
