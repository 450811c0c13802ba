"""The transform of optimized/masks/README.md, written as recursion on polynomials: which operations on
floats it consists of, and in which order.

A complex number is a pair of floats, a polynomial the list of its coefficients. `root(step, node, power)`:
of a table, the root that a step by four multiplies with, w^power, or that of a step by two."""

from typing import NamedTuple

import floats

ADD, SUBTRACT, MULTIPLY = floats.ADD[64], floats.SUBTRACT[64], floats.MULTIPLY[64]
LAST = 5  # the first of the steps by four that leave polynomials of two coefficients


class Complex(NamedTuple):
    re: object
    im: object


class Arithmetic:
    """Of a backend: whether it rounds a product before it adds it."""

    def __init__(self, fused):
        self.fused = fused

    def plus(self, total, a, b):
        """total + a b"""
        return floats.PLUS_PRODUCT(a, b, total) if self.fused else ADD(total, MULTIPLY(a, b))

    def minus(self, total, a, b):
        """total - a b"""
        return floats.MINUS_PRODUCT(a, b, total) if self.fused else SUBTRACT(total, MULTIPLY(a, b))

    def times(self, a, root):
        return Complex(self.minus(MULTIPLY(a.re, root.re), a.im, root.im),
                       self.plus(MULTIPLY(a.re, root.im), a.im, root.re))

    def over(self, a, root):
        """a times the root's conjugate, which is a divided by it."""
        return Complex(self.plus(MULTIPLY(a.re, root.re), a.im, root.im),
                       self.minus(MULTIPLY(a.im, root.re), a.re, root.im))

    def i_over(self, a, root):
        """The same times i."""
        return Complex(self.minus(MULTIPLY(a.re, root.im), a.im, root.re),
                       self.plus(MULTIPLY(a.re, root.re), a.im, root.im))


def plus(a, b):
    return Complex(ADD(a.re, b.re), ADD(a.im, b.im))


def minus(a, b):
    return Complex(SUBTRACT(a.re, b.re), SUBTRACT(a.im, b.im))


def plus_i(a, b):
    return Complex(SUBTRACT(a.re, b.im), ADD(a.im, b.re))


def minus_i(a, b):
    return Complex(ADD(a.re, b.im), SUBTRACT(a.im, b.re))


class Transform(NamedTuple):
    arithmetic: Arithmetic
    by_four: list  # [node][power - 1]: Complex
    by_two: list   # [node - LAST][which]

    def values(self, a, node=0):
        """Those of a polynomial modulo X^(4m) - w^4 at the roots of that. Modulo X^m - w, X^m + w, X^m - iw
        and X^m + iw it is sum_k (+-w or +-iw)^k a_k, the a_k of m coefficients each."""
        m, times, root = len(a) // 4, self.arithmetic.times, self.by_four[node]
        rests = [], [], [], []
        for first, second, third, fourth in zip(*(a[k * m:(k + 1) * m] for k in range(4))):
            products = [times(v, w) for v, w in zip((second, third, fourth), root)]
            even, odd = (plus(first, products[1]), plus(products[0], products[2]))
            of_i, odd_of_i = (minus(first, products[1]), minus(products[0], products[2]))
            for rest, v in zip(rests, (plus(even, odd), minus(even, odd), plus_i(of_i, odd_of_i),
                                       minus_i(of_i, odd_of_i))):
                rest.append(v)
        if node < LAST:
            return [v for k, rest in enumerate(rests) for v in self.values(rest, 4 * node + 1 + k)]
        return [v for k, rest in enumerate(rests) for v in self.last_values(*rest, node, k)]

    def last_values(self, constant, linear, node, k):
        """Of constant + linear X at v and -v, or at iv and -iv."""
        product = self.arithmetic.times(linear, self.by_two[node - LAST][k // 2])
        both = (plus_i, minus_i) if k % 2 else (plus, minus)
        return [function(constant, product) for function in both]

    def coefficients(self, values, node=0):
        """len(values) times those of the polynomial modulo X^(4m) - w^4 that has these values."""
        quarter = len(values) // 4
        quarters = [values[k * quarter:(k + 1) * quarter] for k in range(4)]
        rests = [self.coefficients(own, 4 * node + 1 + k) if node < LAST
                 else self.last_coefficients(*own, node, k) for k, own in enumerate(quarters)]
        over, (w, w_2, w_3) = self.arithmetic.over, self.by_four[node]
        parts = [], [], [], []
        for at_w, at_minus_w, at_iw, at_minus_iw in zip(*rests):
            even, odd = plus(at_w, at_minus_w), minus(at_w, at_minus_w)
            of_i, odd_of_i = plus(at_iw, at_minus_iw), minus(at_iw, at_minus_iw)
            for part, v in zip(parts, (plus(even, of_i), over(minus_i(odd, odd_of_i), w),
                                       over(minus(even, of_i), w_2), over(plus_i(odd, odd_of_i), w_3))):
                part.append(v)
        return [v for part in parts for v in part]

    def last_coefficients(self, first, second, node, k):
        root = self.by_two[node - LAST][k // 2]
        linear = (self.arithmetic.i_over(minus(second, first), root) if k % 2
                  else self.arithmetic.over(minus(first, second), root))
        return [plus(first, second), linear]
