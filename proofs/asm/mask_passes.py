"""Contracts of the functions that products of lattice masks consist of, optimized/masks/leaf/products.hpp,
each proved by itself of any content, and of passes over any number of rows, proved from these."""

import itertools

import z3

import ring
import terms as t
from mask_products import PAIRS, Residues, as_integer, reduced
from masks import DEGREE, LANES, POINTS, symbol, transform_of

DOUBLE = 8
STRIDE = POINTS + 1  # of transforms, in complex numbers


def of_halves(backend, function, halves):
    """A function of a backend's lanes for one half or two."""
    return f"{symbol(backend, function)[:-1]}, {halves}u>"


class Product:
    """`halves` polynomials in each lane, of any numbers: of each lane `numbers[half][lane][k]`."""

    def __init__(self, run, backend, halves=1):
        lanes = LANES[backend]
        size = 2 * lanes  # doubles of a point
        self.at, self.doubles = run.array("product", halves * STRIDE * size, 64, alignment=DOUBLE * lanes)
        self.length = DOUBLE * len(self.doubles)
        self.numbers = [[[ring.Complex(*self.doubles[(half * STRIDE + k) * size + lane:][:size:lanes])
                          for k in range(POINTS)] for lane in range(lanes)] for half in range(halves)]


def inverse(image, run, backend):
    """128 times the coefficients of each lane's polynomial, in the place of its values; nothing else is
    written."""
    lanes = LANES[backend]
    roots_at, transform = transform_of(run, backend)
    product = Product(run, backend)
    run.machine.free.append((product.at, product.at + 2 * DOUBLE * lanes * POINTS))
    run.machine.call(symbol(backend, "inverse"), [roots_at, product.at])
    for lane, values in enumerate(product.numbers[0]):
        for k, coefficient in enumerate(transform.coefficients(values)):
            for part, v in enumerate(coefficient):
                code = run.output(product.at + DOUBLE * ((2 * k + part) * lanes + lane), 64)
                run.expect_same(code, v, f"part {part} of coefficient {k} in lane {lane}")


def reduce_product(image, run, backend, halves):
    """Of each pair of primes, coefficient and lane the reduced float as 16 bits, for every float that is an
    integer in the range of its pair."""
    lanes, arithmetic = LANES[backend], ring.Arithmetic(backend != "portable")
    product, any_reduced = Product(run, backend, halves), Residues(run, backend).any
    out_at = run.room(2 * len(PAIRS) * DEGREE * lanes, 2)
    run.machine.call(of_halves(backend, "reduce_product", halves), [product.at, out_at])
    for (q, pair), i, lane in itertools.product(enumerate(PAIRS), range(DEGREE), range(lanes)):
        parts = [numbers[lane][i % POINTS][i // POINTS] for numbers in product.numbers]
        x = as_integer(backend, reduced(arithmetic, pair, *parts))
        code = t.term(run.output(out_at + 2 * ((q * DEGREE + i) * lanes + lane), 16), 16)
        v = any_reduced[q]
        run.expect(z3.substitute(code, (x, z3.SignExt(16, v))), v, 16,
                   f"coefficient {i} modulo pair {q} in lane {lane}")
