// Products of a small secret matrix with single columns (HIDE-4): one row per lane, whose
// transforms are made once.
#pragma once

#include "optimized/masks/leaf/products.hpp"

namespace slip::masks {

/// A matrix, transformed: for each `width` rows, point by point, element by element, the complex
/// number of each lane.
template <class L>
std::size_t small_matrix_doubles(std::size_t rows, std::size_t elements) {
    const std::size_t groups = (rows + L::width - 1) / L::width;
    return groups * elements * (points * sizeof(Complex<L>) / sizeof(double));
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

/// 1 <= count <= width / 2 elements, transformed, each lane a half: lane 2 l + h has half h of
/// element l, those behind them the last element again. y = high 2^24 + low, and either fits 32
/// bits, as |y| < 2^47. Where one element is all there is room for, the count is not read: `used`
/// keeps compilers from dropping it, so that all leaves' functions are called alike.
template <class L>
[[gnu::noinline, gnu::used]] void transform_halves(const Roots& roots, const std::int64_t* y,
                                                   std::size_t count, Complex<L>* x) {
    constexpr std::int64_t low = (std::int64_t{1} << low_bits) - 1;
    const auto number = [](std::int64_t half) {
        return static_cast<double>(static_cast<std::int32_t>(half));
    };
    const std::int64_t* element[L::width / 2];
    for (std::size_t l = 0; l < L::width / 2; ++l) element[l] = y + std::min(l, count - 1) * degree;
    const auto source = [&](std::size_t j) {
        Complex<L> coefficient{};
        for (std::size_t l = 0; l < L::width / 2; ++l) {
            const std::int64_t re = element[l][j], im = element[l][j + points];
            coefficient.re[2 * l] = number(re & low);
            coefficient.re[2 * l + 1] = number(re >> low_bits);
            coefficient.im[2 * l] = number(im & low);
            coefficient.im[2 * l + 1] = number(im >> low_bits);
        }
        return coefficient;
    };
    forward<L>(roots, source, x);
}

/// The column's halves, `width` at a time: half h of element l is number 2 l + h.
template <class L>
void transform_column(const Roots& roots, const std::int64_t* y, std::size_t elements,
                      Complex<L>* halves) {
    constexpr std::size_t most = L::width / 2;
    for (std::size_t first = 0; first < elements; first += most, halves += points) {
        transform_halves<L>(roots, y + first * degree, std::min(most, elements - first), halves);
    }
}

/// Both halves of the products of `width` rows with a column, point by point; the second one is
/// `stride` places behind the first.
template <class L>
[[gnu::noinline]] void multiply_small_points(const Complex<L>* rows, std::size_t elements,
                                             const Complex<L>* column, Complex<L>* product) {
    for (std::size_t k = 0; k < points; ++k, rows += elements) {
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
        for (std::size_t h = 0; h < 2; ++h) product[h * Places<L>::stride + k] = {re[h], im[h]};
    }
}

/// The first `count` <= degree residues of each plane of row `lane` of the `width` ones; planes are
/// m apart.
template <class L>
[[gnu::noinline]] void write_small_row(const typename Places<L>::Residues* residues,
                                       std::size_t lane, std::size_t count, std::size_t m,
                                       std::size_t planes, std::uint8_t* out) {
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

/// The same of the first `count` <= width * degree residues of all rows.
template <class L>
[[gnu::noinline]] void write_small_rows(const typename Places<L>::Residues* residues,
                                        std::size_t count, std::size_t m, std::size_t planes,
                                        std::uint8_t* out) {
    for (std::size_t lane = 0, first = 0; first < count; ++lane, first += degree) {
        write_small_row<L>(residues, lane, std::min(degree, count - first), m, planes, out + first);
    }
}

template <class L>
void multiply_small_rows(const Roots& roots, const double* matrix, std::size_t elements,
                         const std::int64_t* y, std::size_t m, std::size_t planes, void* workspace,
                         std::uint8_t* out) {
    constexpr std::size_t most = L::width * degree;
    const Places<L> places(workspace, elements, 2, 1);
    Complex<L>* const column = places.factor(0, 0);
    transform_column<L>(roots, y, elements, column);
    const auto* rows = reinterpret_cast<const Complex<L>*>(matrix);
    for (std::size_t first = 0; first < m; first += most, rows += points * elements) {
        multiply_small_points<L>(rows, elements, column, places.product(0, 0));
        inverse<L>(roots, places.product(0, 0));
        inverse<L>(roots, places.product(0, 1));
        reduce_product<L, 2>(places.product(0, 0), places.residues(0, 0));
        write_small_rows<L>(places.residues(0, 0), std::min(most, m - first), m, planes,
                            out + first);
    }
}

}  // namespace slip::masks
