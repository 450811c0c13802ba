// The transform: a polynomial of R, real, as 128 complex numbers modulo X^128 - i, and from there
// its values at the 128 roots. `L::width` polynomials at a time, one per lane. Modulo X^(4m) - w^4
// a polynomial is four modulo X^m - w, X^m + w, X^m - iw and X^m + iw; below 8 points a last step
// is by two. README.md has the error bound of this very arithmetic.
#pragma once

#include "optimized/masks/contracts.hpp"

namespace slip::masks {

template <class L>
struct Complex {
    typename L::Doubles re, im;
};

template <class L>
[[gnu::always_inline]] inline Complex<L> operator+(const Complex<L>& a, const Complex<L>& b) {
    return {a.re + b.re, a.im + b.im};
}
template <class L>
[[gnu::always_inline]] inline Complex<L> operator-(const Complex<L>& a, const Complex<L>& b) {
    return {a.re - b.re, a.im - b.im};
}
/// a + i b and a - i b.
template <class L>
[[gnu::always_inline]] inline Complex<L> plus_i(const Complex<L>& a, const Complex<L>& b) {
    return {a.re - b.im, a.im + b.re};
}
template <class L>
[[gnu::always_inline]] inline Complex<L> minus_i(const Complex<L>& a, const Complex<L>& b) {
    return {a.re + b.im, a.im - b.re};
}
template <class L>
[[gnu::always_inline]] inline Complex<L> times(const Complex<L>& a, const Root& root) {
    const typename L::Doubles re = L::all(root.re), im = L::all(root.im);
    return {L::minus_product(a.re * re, a.im, im), L::plus_product(a.re * im, a.im, re)};
}
/// Divided by the root, whose modulus is 1; and i times that.
template <class L>
[[gnu::always_inline]] inline Complex<L> over(const Complex<L>& a, const Root& root) {
    const typename L::Doubles re = L::all(root.re), im = L::all(root.im);
    return {L::plus_product(a.re * re, a.im, im), L::minus_product(a.im * re, a.re, im)};
}
template <class L>
[[gnu::always_inline]] inline Complex<L> i_over(const Complex<L>& a, const Root& root) {
    const typename L::Doubles re = L::all(root.re), im = L::all(root.im);
    return {L::minus_product(a.re * im, a.im, re), L::plus_product(a.re * re, a.im, im)};
}

template <class L>
[[gnu::always_inline]] inline void split_by_four(Complex<L>& a, Complex<L>& b, Complex<L>& c,
                                                 Complex<L>& d, const Root (&root)[3]) {
    const Complex<L> wb = times(b, root[0]), wc = times(c, root[1]), wd = times(d, root[2]);
    const Complex<L> even = a + wc, other_even = a - wc, odd = wb + wd, other_odd = wb - wd;
    a = even + odd;
    b = even - odd;
    c = plus_i(other_even, other_odd);
    d = minus_i(other_even, other_odd);
}

/// Four times the inverse of split_by_four().
template <class L>
[[gnu::always_inline]] inline void join_by_four(Complex<L>& a, Complex<L>& b, Complex<L>& c,
                                                Complex<L>& d, const Root (&root)[3]) {
    const Complex<L> even = a + b, odd = a - b, other_even = c + d, i_other_odd = c - d;
    a = even + other_even;
    b = over(minus_i(odd, i_other_odd), root[0]);
    c = over(even - other_even, root[1]);
    d = over(plus_i(odd, i_other_odd), root[2]);
}

/// Eight points to eight values, of the four polynomials a split leaves modulo X^2 - v^2, X^2 +
/// v^2, X^2 - u^2 and X^2 + u^2.
template <class L>
[[gnu::always_inline]] inline void split_eight(Complex<L>* x, const Root (&by_four)[3],
                                               const Root (&by_two)[2]) {
    Complex<L> a0 = x[0], b0 = x[2], c0 = x[4], d0 = x[6];
    split_by_four(a0, b0, c0, d0, by_four);
    Complex<L> a1 = x[1], b1 = x[3], c1 = x[5], d1 = x[7];
    split_by_four(a1, b1, c1, d1, by_four);
    a1 = times(a1, by_two[0]);
    b1 = times(b1, by_two[0]);
    c1 = times(c1, by_two[1]);
    d1 = times(d1, by_two[1]);
    x[0] = a0 + a1;
    x[1] = a0 - a1;
    x[2] = plus_i(b0, b1);
    x[3] = minus_i(b0, b1);
    x[4] = c0 + c1;
    x[5] = c0 - c1;
    x[6] = plus_i(d0, d1);
    x[7] = minus_i(d0, d1);
}

/// Eight times the inverse of split_eight().
template <class L>
[[gnu::always_inline]] inline void join_eight(Complex<L>* x, const Root (&by_four)[3],
                                              const Root (&by_two)[2]) {
    Complex<L> a0 = x[0] + x[1], b0 = x[2] + x[3], c0 = x[4] + x[5], d0 = x[6] + x[7];
    join_by_four(a0, b0, c0, d0, by_four);
    Complex<L> a1 = over(x[0] - x[1], by_two[0]), c1 = over(x[4] - x[5], by_two[1]);
    Complex<L> b1 = i_over(x[3] - x[2], by_two[0]), d1 = i_over(x[7] - x[6], by_two[1]);
    join_by_four(a1, b1, c1, d1, by_four);
    x[0] = a0;
    x[1] = a1;
    x[2] = b0;
    x[3] = b1;
    x[4] = c0;
    x[5] = c1;
    x[6] = d0;
    x[7] = d1;
}

/// The values of the polynomial whose complex coefficient j is source(j).
template <class L, class Source>
[[gnu::always_inline]] inline void forward(const Roots& roots, const Source& source,
                                           Complex<L>* x) {
    for (std::size_t j = 0; j < 32; ++j) {
        Complex<L> a = source(j), b = source(j + 32), c = source(j + 64), d = source(j + 96);
        split_by_four(a, b, c, d, roots.by_four[0]);
        x[j] = a;
        x[j + 32] = b;
        x[j + 64] = c;
        x[j + 96] = d;
    }
    for (std::size_t node = 0; node < 4; ++node) {
        Complex<L>* const y = x + 32 * node;
        for (std::size_t j = 0; j < 8; ++j) {
            split_by_four(y[j], y[j + 8], y[j + 16], y[j + 24], roots.by_four[1 + node]);
        }
    }
    for (std::size_t node = 0; node < 16; ++node) {
        split_eight(x + 8 * node, roots.by_four[5 + node], roots.by_two[node]);
    }
}

/// `points` times the complex coefficients of the polynomial with these values, in place. A
/// function of its own, as are those in products.hpp that say noinline.
template <class L>
[[gnu::noinline]] void inverse(const Roots& roots, Complex<L>* x) {
    for (std::size_t node = 0; node < 16; ++node) {
        join_eight(x + 8 * node, roots.by_four[5 + node], roots.by_two[node]);
    }
    for (std::size_t node = 0; node < 4; ++node) {
        Complex<L>* const y = x + 32 * node;
        for (std::size_t j = 0; j < 8; ++j) {
            join_by_four(y[j], y[j + 8], y[j + 16], y[j + 24], roots.by_four[1 + node]);
        }
    }
    for (std::size_t j = 0; j < 32; ++j) {
        join_by_four(x[j], x[j + 32], x[j + 64], x[j + 96], roots.by_four[0]);
    }
}

}  // namespace slip::masks
