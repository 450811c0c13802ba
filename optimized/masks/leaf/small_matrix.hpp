// Products of a small secret matrix with single columns (HIDE-4): one row per lane, whose
// transforms are made once.
#pragma once

#include "optimized/masks/leaf/products.hpp"

namespace slip::masks {

/// A matrix, transformed: for each `width` rows, point by point, element by element, the complex
/// number of each lane.
template <class L>
std::size_t small_matrix_doubles(std::size_t rows, std::size_t elements) {
    return (rows + L::width - 1) / L::width * points * elements * sizeof(Complex<L>) /
           sizeof(double);
}

/// One element of 1 <= count <= width rows: `small` and `out` are those of the first.
template <class L>
[[gnu::noinline]] void transform_small_group(const Roots& roots, const std::int8_t* small,
                                             std::size_t elements, std::size_t count, Complex<L>* x,
                                             Complex<L>* out) {
    transform_small<L>(roots, small, elements * degree, count, x);
    for (std::size_t k = 0; k < points; ++k) out[k * elements] = x[k];
}

template <class L>
void transform_small_rows(const Roots& roots, const std::int8_t* small, std::size_t rows,
                          std::size_t elements, void* workspace, double* matrix) {
    Complex<L>* const x = Places<L>(workspace, 1, 1, 0).factor(0, 0);
    auto* out = reinterpret_cast<Complex<L>*>(matrix);
    for (std::size_t first = 0; first < rows; first += L::width, out += points * elements) {
        const std::size_t count = std::min(L::width, rows - first);
        for (std::size_t l = 0; l < elements; ++l) {
            transform_small_group<L>(roots, small + (first * elements + l) * degree, elements,
                                     count, x, out + l);
        }
    }
}

/// The halves of the column's elements, transformed, each lane a half of an element: half h of
/// element l is number 2 l + h. y = high 2^24 + low.
template <class L>
void transform_column(const Roots& roots, const std::int64_t* y, std::size_t elements,
                      Complex<L>* halves) {
    constexpr std::int64_t low = (std::int64_t{1} << low_bits) - 1;
    for (std::size_t first = 0; first < 2 * elements; first += L::width, halves += points) {
        const auto source = [&](std::size_t j) {
            Complex<L> coefficient{};
            for (std::size_t lane = 0; lane < L::width; ++lane) {
                const std::size_t number = std::min(first + lane, 2 * elements - 1);
                const std::int64_t* const element = y + number / 2 * degree;
                const auto half = [&](std::int64_t v) {
                    return static_cast<double>(number % 2 == 0 ? v & low : v >> low_bits);
                };
                coefficient.re[lane] = half(element[j]);
                coefficient.im[lane] = half(element[j + points]);
            }
            return coefficient;
        };
        forward<L>(roots, source, halves);
    }
}

/// Point k of both halves of the products of `width` rows.
template <class L>
[[gnu::always_inline]] inline void multiply_point(const Complex<L>* rows, std::size_t elements,
                                                  const Complex<L>* column, std::size_t k,
                                                  Complex<L>& low, Complex<L>& high) {
    typename L::Doubles re[2]{}, im[2]{};
    for (std::size_t l = 0; l < elements; ++l) {
        const Complex<L> row = rows[l];
        for (std::size_t h = 0; h < 2; ++h) {
            const std::size_t number = 2 * l + h;
            const Complex<L>& from = column[number / L::width * points + k];
            const typename L::Doubles a = L::all(from.re[number % L::width]);
            const typename L::Doubles b = L::all(from.im[number % L::width]);
            re[h] = L::minus_product(L::plus_product(re[h], row.re, a), row.im, b);
            im[h] = L::plus_product(L::plus_product(im[h], row.re, b), row.im, a);
        }
    }
    low = {re[0], im[0]};
    high = {re[1], im[1]};
}

/// Row `lane` of the `width` ones: up to `degree` residues of each plane.
template <class L>
void write_small_row(const typename Places<L>::Residues* residues, std::size_t lane,
                     std::size_t count, std::size_t m, std::size_t planes, std::uint8_t* out) {
    for (std::size_t q = 0; q < (planes + 1) / 2; ++q) {
        std::int16_t run[degree];
        for (std::size_t i = 0; i < degree; ++i) run[i] = residues[q * degree + i][lane];
        for (std::size_t p = 2 * q; p < std::min(2 * q + 2, planes); ++p) {
            const ShortProduct by = short_product(p, 1);
            std::uint8_t part[degree];
            for (std::size_t i = 0; i < degree; ++i) part[i] = multiply_short(run[i], by);
            std::memcpy(out + p * m, part, count);
        }
    }
}

template <class L>
void multiply_small_rows(const Roots& roots, const double* matrix, std::size_t elements,
                         const std::int64_t* y, std::size_t m, std::size_t planes, void* workspace,
                         std::uint8_t* out) {
    const Places<L> places(workspace, elements, 2, 1);
    Complex<L>* const column = places.factor(0, 0);
    transform_column<L>(roots, y, elements, column);
    const auto* rows = reinterpret_cast<const Complex<L>*>(matrix);
    Complex<L>* const low = places.product(0, 0);
    Complex<L>* const high = places.product(0, 1);
    for (std::size_t first = 0; first < m; first += L::width * degree) {
        for (std::size_t k = 0; k < points; ++k, rows += elements) {
            multiply_point<L>(rows, elements, column, k, low[k], high[k]);
        }
        inverse<L>(roots, low);
        inverse<L>(roots, high);
        reduce_product<L, 2>(low, places.residues(0, 0));
        for (std::size_t lane = 0; lane < L::width && first + lane * degree < m; ++lane) {
            const std::size_t at = first + lane * degree;
            write_small_row<L>(places.residues(0, 0), lane, std::min(degree, m - at), m, planes,
                               out + at);
        }
    }
}

}  // namespace slip::masks
